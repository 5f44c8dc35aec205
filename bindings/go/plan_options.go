package gpujoin

// #include "shim.h"
import "C"

import "time"

// Algorithm is a name for a whole combination of techniques.
type Algorithm int32

// The algorithms; gpujoin.h says where each comes from.
const (
	AlgorithmAutomatic     Algorithm = C.GPUJOIN_ALGORITHM_AUTOMATIC
	AlgorithmNOP           Algorithm = C.GPUJOIN_ALGORITHM_NOP
	AlgorithmPHJOM         Algorithm = C.GPUJOIN_ALGORITHM_PHJ_OM
	AlgorithmPHJGFUR       Algorithm = C.GPUJOIN_ALGORITHM_PHJ_GFUR
	AlgorithmSMJOM         Algorithm = C.GPUJOIN_ALGORITHM_SMJ_OM
	AlgorithmSMJUM         Algorithm = C.GPUJOIN_ALGORITHM_SMJ_UM
	AlgorithmCPURadix      Algorithm = C.GPUJOIN_ALGORITHM_CPU_RADIX
	AlgorithmPHJUM         Algorithm = C.GPUJOIN_ALGORITHM_PHJ_UM
	AlgorithmRowMultiset   Algorithm = C.GPUJOIN_ALGORITHM_ROW_MULTISET
	AlgorithmPHJCarried    Algorithm = C.GPUJOIN_ALGORITHM_PHJ_CARRIED
	AlgorithmNOPCarried    Algorithm = C.GPUJOIN_ALGORITHM_NOP_CARRIED
	AlgorithmDirectCarried Algorithm = C.GPUJOIN_ALGORITHM_DIRECT_CARRIED
	AlgorithmSMJCarried    Algorithm = C.GPUJOIN_ALGORITHM_SMJ_CARRIED
	AlgorithmPDJCarried    Algorithm = C.GPUJOIN_ALGORITHM_PDJ_CARRIED
)

// PlanOptions are what the caller says about how to join. What is zero the planner chooses; the
// numbers of the techniques are those of gpujoin.h, section 8.
type PlanOptions struct {
	Device    Device
	Algorithm Algorithm
	// Transform, Match, Gather, Filter, Transfer, Skew and Output are GPUJOIN_TRANSFORM_* and so on.
	Transform, Match, Gather, Filter, Transfer, Skew, Output int
	// BuildSide is hashed or sorted into; 0 = the smaller.
	BuildSide Side
	// RadixBits of partitioning transforms: 2^bits partitions.
	RadixBits int
	Passes    int
	PagePairs int
	// ProbeChunkRows of GPUJOIN_TRANSFER_PROBE_CHUNKS.
	ProbeChunkRows int64
	// Timeout of each call that plans or executes; 0 = as long as it takes. The deadline of a
	// context.Context counts besides.
	Timeout time.Duration
}

// describe writes the options for the library; nil are those of zero.
func (o *PlanOptions) describe(memory *arena) (*C.gpujoin_plan_options, error) {
	raw := sized[C.gpujoin_plan_options](memory)
	if o == nil {
		return raw, nil
	}
	for _, each := range []struct {
		name string
		from int
		to   *C.int32_t
	}{
		{"Transform", o.Transform, (*C.int32_t)(&raw.transform)},
		{"Match", o.Match, (*C.int32_t)(&raw.match)},
		{"Gather", o.Gather, (*C.int32_t)(&raw.gather)},
		{"Filter", o.Filter, (*C.int32_t)(&raw.filter)},
		{"Transfer", o.Transfer, (*C.int32_t)(&raw.transfer)},
		{"Skew", o.Skew, (*C.int32_t)(&raw.skew)},
		{"Output", o.Output, (*C.int32_t)(&raw.output)},
		{"RadixBits", o.RadixBits, &raw.radix_bits},
		{"Passes", o.Passes, &raw.passes},
		{"PagePairs", o.PagePairs, &raw.page_pairs},
	} {
		var err error
		if *each.to, err = int32Of(each.name, each.from); err != nil {
			return nil, err
		}
	}
	raw.device = C.gpujoin_device(o.Device)
	raw.algorithm = C.gpujoin_algorithm(o.Algorithm)
	raw.build_side = C.gpujoin_side(o.BuildSide)
	raw.probe_chunk_rows = C.int64_t(o.ProbeChunkRows)
	var err error
	raw.timeout_milliseconds, err = timeoutOf(o.Timeout)
	return raw, err
}

// timeoutOf is in milliseconds, rounded up.
func timeoutOf(timeout time.Duration) (C.int64_t, error) {
	if timeout < 0 {
		return 0, invalid("Timeout is %v", timeout)
	}
	milliseconds := timeout / time.Millisecond
	if timeout%time.Millisecond != 0 {
		milliseconds++
	}
	return C.int64_t(milliseconds), nil
}
