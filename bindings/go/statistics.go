package gpujoin

// #include "shim.h"
import "C"

import "time"

// Statistics are what was executed, and what it took. Sizes are in bytes.
type Statistics struct {
	Device Device
	// Plan in one line; Reason why this executor and this plan.
	Plan, Reason                    string
	LeftRows, RightRows, OutputRows int64
	// Elapsed of the execution.
	Elapsed time.Duration
	// PredictedBytes is the sum over the stages; PeakMemory the most held at one time, the result
	// included.
	PredictedBytes, PeakMemory uint64
	// OutputResumes is how often the match had to stop for more output memory.
	OutputResumes int
	Stages        []Stage
}

// A Stage of an execution.
type Stage struct {
	// Name such as "match"; Technique such as "hash table".
	Name, Technique string
	Elapsed         time.Duration
	// PredictedBytes of memory traffic, of transfers bytes on the link.
	PredictedBytes uint64
}

func durationOf(milliseconds C.double) time.Duration {
	return time.Duration(float64(milliseconds) * float64(time.Millisecond))
}

// Statistics are of the whole execution, with its stages in the order in which they ran. It does
// not wait.
func (r *Result) Statistics() (Statistics, error) {
	if err := r.object.hold(); err != nil {
		return Statistics{}, err
	}
	defer r.object.letGo()
	result := C.handle(r.object.handle)
	raw := zeroed[C.gpujoin_statistics]()
	err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_result_get_statistics(result, raw, failed)
	})
	if err != nil {
		return Statistics{}, err
	}
	found := Statistics{
		Device:         Device(raw.device),
		Plan:           C.GoString(&raw.plan[0]),
		Reason:         C.GoString(&raw.reason[0]),
		LeftRows:       int64(raw.left_rows),
		RightRows:      int64(raw.right_rows),
		OutputRows:     int64(raw.output_rows),
		Elapsed:        durationOf(raw.milliseconds),
		PredictedBytes: uint64(raw.predicted_bytes),
		PeakMemory:     uint64(raw.peak_memory_bytes),
		OutputResumes:  int(raw.output_resumes),
	}
	for i := C.int32_t(0); i < raw.stage_count; i++ {
		stage := zeroed[C.gpujoin_stage_statistics]()
		err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
			return C.gpujoin_go_result_get_stage(result, i, stage, failed)
		})
		if err != nil {
			return Statistics{}, err
		}
		found.Stages = append(found.Stages, Stage{
			Name:           C.GoString(&stage.stage[0]),
			Technique:      C.GoString(&stage.technique[0]),
			Elapsed:        durationOf(stage.milliseconds),
			PredictedBytes: uint64(stage.predicted_bytes),
		})
	}
	return found, nil
}
