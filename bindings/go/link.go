//go:build !gpujoin_flags

package gpujoin

// #cgo pkg-config: gpujoin
import "C"
