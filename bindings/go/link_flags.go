//go:build gpujoin_flags

package gpujoin

// CGO_CFLAGS and CGO_LDFLAGS say where the header and the library are.

// #cgo LDFLAGS: -lgpujoin
import "C"
