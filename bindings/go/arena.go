package gpujoin

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// An arena is C memory of a call's arguments: structures of the library hold pointers to others,
// which Go's memory may not. Everything in it starts as zeros and goes with free.
type arena struct {
	blocks []unsafe.Pointer
	pins   runtime.Pinner
}

func (a *arena) free() {
	for _, block := range a.blocks {
		C.free(block)
	}
	a.blocks = nil
	a.pins.Unpin()
}

// many is room for count values; nil of none.
func many[T any](a *arena, count int) []T {
	if count == 0 {
		return nil
	}
	var value T
	// calloc checks the product, and Go stops the process where there is no memory.
	block := C.calloc(C.size_t(count), C.size_t(unsafe.Sizeof(value)))
	a.blocks = append(a.blocks, block)
	return unsafe.Slice((*T)(block), count)
}

func one[T any](a *arena) *T { return &many[T](a, 1)[0] }

// sized is a structure of the library with its struct_size, which it opens with.
func sized[T any](a *arena) *T {
	made := one[T](a)
	setSize(made)
	return made
}

func setSize[T any](made *T) {
	*(*uint32)(unsafe.Pointer(made)) = uint32(unsafe.Sizeof(*made))
}

// zeroed is a structure for the library to write to, which holds no pointers to Go's memory.
func zeroed[T any]() *T {
	made := new(T)
	setSize(made)
	return made
}

func (a *arena) text(value string) *C.char {
	text := C.CString(value)
	a.blocks = append(a.blocks, unsafe.Pointer(text))
	return text
}

// textOrNil is nil of no text.
func (a *arena) textOrNil(value string) *C.char {
	if value == "" {
		return nil
	}
	return a.text(value)
}

func int32s[T ~int | ~int32](a *arena, values []T) *C.int32_t {
	copied := many[C.int32_t](a, len(values))
	for i, value := range values {
		copied[i] = C.int32_t(value)
	}
	return unsafe.SliceData(copied)
}

// setHandle writes a handle where the library's structure has a pointer: what looks like one to Go
// has to be one.
func setHandle(place unsafe.Pointer, handle uintptr) { *(*uintptr)(place) = handle }
