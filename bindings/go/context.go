package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// Version is that of the loaded library, for example "0.2.0".
func Version() string { return C.GoString(C.gpujoin_version_string()) }

// Device says which executor joins.
type Device int32

// Executors.
const (
	// DeviceAutomatic is CUDA where it can be used, else the CPU; of plans that of the context.
	DeviceAutomatic Device = C.GPUJOIN_DEVICE_AUTOMATIC
	DeviceCUDA      Device = C.GPUJOIN_DEVICE_CUDA
	DeviceCPU       Device = C.GPUJOIN_DEVICE_CPU
)

func (d Device) String() string {
	switch d {
	case DeviceAutomatic:
		return "automatic"
	case DeviceCUDA:
		return "cuda"
	case DeviceCPU:
		return "cpu"
	}
	return "unknown"
}

// ContextOptions are what a context is opened with. Zero means that the library decides; of a
// limit, which is in bytes, that there is none.
type ContextOptions struct {
	Device Device
	// CUDADevice is the CUDA ordinal; 0 is the first device.
	CUDADevice int
	// Threads of the CPU executor: 0 are all that the process may run on. GOMAXPROCS does not
	// count there; with 1 a call runs on its own thread alone.
	Threads int
	// MemoryLimit of what joins run in: device memory for CUDA, host memory for the CPU. Inputs
	// that need no copy do not count.
	MemoryLimit uint64
	// HostLimit of host memory that the library allocates.
	HostLimit uint64
	// PinnedLimit of page-locked host memory, on a context of CUDA.
	PinnedLimit uint64
	// SpillPath is an existing folder where rows go that no limit has room for; "" = none.
	SpillPath string
	// SpillLimit of all files there together.
	SpillLimit uint64
	// CalibrationPath is a file that Calibrate wrote on this machine; "" = figures built in.
	CalibrationPath string
	// Log is given lines of text, on the goroutines that call; it must not call this package.
	Log func(level LogLevel, message string)
	// Progress is called between the steps of a join, on the goroutine that joins: done of total
	// steps of a stage are over. False cancels that join with StatusCancelled. It must not call
	// this package.
	Progress func(stage string, done, total int64) bool
}

// A Context is a device, its memory with limits, and callbacks.
type Context struct{ object *object }

// ContextInfo is what a context runs on, and its memory in bytes. A limit of 0 is none.
type ContextInfo struct {
	Device     Device
	DeviceName string
	// Reason why this device was taken.
	Reason string
	// CUDADevice is -1 for the CPU.
	CUDADevice  int
	Threads     int
	MemoryLimit uint64
	// MemoryUsed is held now, cached blocks included; MemoryPeak the most in use at one time.
	MemoryUsed, MemoryPeak uint64
	// Of host memory; on a context of the CPU they are those before.
	HostLimit, HostUsed, HostPeak uint64
	PinnedUsed                    uint64
	SpillUsed, SpillPeak          uint64
}

// NewContext opens a device; nil options are all automatic. The first one on a GPU takes hundreds
// of milliseconds.
//
// Errors: StatusInvalidArgument, StatusNoDevice (DeviceCUDA alone), StatusOutOfMemory, StatusCUDA,
// StatusDeviceLost.
func NewContext(options *ContextOptions) (*Context, error) {
	if options == nil {
		options = &ContextOptions{}
	}
	var memory arena
	defer memory.free()
	raw := sized[C.gpujoin_context_options](&memory)
	raw.device = C.gpujoin_device(options.Device)
	var err error
	if raw.cuda_device_id, err = int32Of("CUDADevice", options.CUDADevice); err != nil {
		return nil, err
	}
	if raw.cpu_threads, err = int32Of("Threads", options.Threads); err != nil {
		return nil, err
	}
	raw.memory_limit_bytes = C.uint64_t(options.MemoryLimit)
	raw.host_limit_bytes = C.uint64_t(options.HostLimit)
	raw.pinned_limit_bytes = C.uint64_t(options.PinnedLimit)
	raw.spill_limit_bytes = C.uint64_t(options.SpillLimit)
	raw.spill_path = memory.textOrNil(options.SpillPath)
	raw.calibration_path = memory.textOrNil(options.CalibrationPath)
	functions := &callbacks{progress: options.Progress, log: options.Log}
	number := functions.register()
	C.gpujoin_go_set_callbacks(raw, C.uintptr_t(number), flag(options.Progress != nil),
		flag(options.Log != nil))
	var handle C.handle
	err = check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_context_create(raw, &handle, failed)
	})
	if err != nil {
		registered.Delete(number)
		return nil, err
	}
	made := newObject("context", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_context_destroy(C.handle(handle))
		registered.Delete(number)
	})
	return closeWhenUnreachable(&Context{made}, made), nil
}

func flag(value bool) C.int {
	if value {
		return 1
	}
	return 0
}

func int32Of(name string, value int) (C.int32_t, error) {
	if int(int32(value)) != value {
		return 0, invalid("%s is %d, and has to fit 32 bits", name, value)
	}
	return C.int32_t(value), nil
}

// Close lets go of the context; what was made from it stays valid.
func (c *Context) Close() { c.object.close() }

// Info says what the context runs on, and its memory. It does not wait.
func (c *Context) Info() (ContextInfo, error) {
	if err := c.object.hold(); err != nil {
		return ContextInfo{}, err
	}
	defer c.object.letGo()
	raw := zeroed[C.gpujoin_context_info]()
	err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_context_get_info(C.handle(c.object.handle), raw, failed)
	})
	if err != nil {
		return ContextInfo{}, err
	}
	return ContextInfo{
		Device:      Device(raw.device),
		DeviceName:  C.GoString(&raw.device_name[0]),
		Reason:      C.GoString(&raw.reason[0]),
		CUDADevice:  int(raw.cuda_device_id),
		Threads:     int(raw.cpu_threads),
		MemoryLimit: uint64(raw.memory_limit_bytes),
		MemoryUsed:  uint64(raw.memory_used_bytes),
		MemoryPeak:  uint64(raw.memory_peak_bytes),
		HostLimit:   uint64(raw.host_limit_bytes),
		HostUsed:    uint64(raw.host_used_bytes),
		HostPeak:    uint64(raw.host_peak_bytes),
		PinnedUsed:  uint64(raw.pinned_used_bytes),
		SpillUsed:   uint64(raw.spill_used_bytes),
		SpillPeak:   uint64(raw.spill_peak_bytes),
	}, nil
}

// Cancel asks the plannings and executions that run on the context now to stop, all of them, or
// else the next one to begin. To stop one call, end its context.Context.
func (c *Context) Cancel() error {
	return c.plainly(func(context C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_context_cancel(context, failed)
	})
}

// Trim gives cached memory that nothing uses back to the system.
func (c *Context) Trim() error {
	return c.plainly(func(context C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_context_trim(context, failed)
	})
}

func (c *Context) plainly(call func(C.handle, *C.gpujoin_error) C.gpujoin_status) error {
	return c.object.plainly(call)
}

// Calibrate measures what the planner has to know of this machine, uses it in this context from
// now on, and keeps it in a file for ContextOptions.CalibrationPath. It takes seconds, and up to 3
// GiB of device or 1 GiB of host memory; no other call on the context may run.
//
// Errors: StatusInvalidArgument (the file cannot be written), StatusOutOfMemory,
// StatusMemoryLimit, StatusCancelled, StatusCUDA, StatusDeviceLost.
func (c *Context) Calibrate(ctx context.Context, path string) error {
	if err := c.object.hold(); err != nil {
		return err
	}
	defer c.object.letGo()
	var memory arena
	defer memory.free()
	text := memory.text(path)
	return compute(ctx, nil, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_context_calibrate(stop, C.handle(c.object.handle), text, failed)
	})
}

// explained asks for a text until there is room for it.
func explained(o *object,
	ask func(buffer *C.char, length *C.size_t, failed *C.gpujoin_error) C.gpujoin_status) (
	string, error) {
	if err := o.hold(); err != nil {
		return "", err
	}
	defer o.letGo()
	for room := 4096; ; {
		buffer := make([]byte, room)
		length := C.size_t(room)
		err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
			return ask((*C.char)(unsafe.Pointer(&buffer[0])), &length, failed)
		})
		if err == nil {
			return C.GoString((*C.char)(unsafe.Pointer(&buffer[0]))), nil
		}
		if err.(*Error).Status != StatusBufferTooSmall || int(length) <= room {
			return "", err
		}
		room = int(length)
	}
}
