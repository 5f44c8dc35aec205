package gpujoin

import (
	"runtime"
	"sync"
)

// An object is a handle of the library with what has to outlive it. Its references are one of the
// Go value that owns it, until that is closed, one of each call that runs on it, and one of each
// object that was made of it: the handle is destroyed when the last one goes, and lets go of the
// objects that it was made of afterwards.
type object struct {
	kind    string
	handle  uintptr
	destroy func(handle uintptr)
	parents []*object

	mutex      sync.Mutex
	references int
	isClosed   bool
}

// newObject owns the handle. The parents are held already by the caller's call.
func newObject(kind string, handle uintptr, destroy func(handle uintptr),
	parents ...*object) *object {
	for _, parent := range parents {
		parent.mutex.Lock()
		parent.references++
		parent.mutex.Unlock()
	}
	return &object{kind: kind, handle: handle, destroy: destroy, parents: parents, references: 1}
}

// hold is for a call on the object, which lets go at its end. Errors: of an object that is closed.
func (o *object) hold() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.isClosed {
		return invalid("%s is closed", o.kind)
	}
	o.references++
	return nil
}

func (o *object) letGo() {
	o.mutex.Lock()
	o.references--
	isLast := o.references == 0
	o.mutex.Unlock()
	if !isLast {
		return
	}
	o.destroy(o.handle)
	for _, parent := range o.parents {
		parent.letGo()
	}
}

func (o *object) close() {
	o.mutex.Lock()
	isFirst := !o.isClosed
	o.isClosed = true
	o.mutex.Unlock()
	if isFirst {
		o.letGo()
	}
}

// holdAll is hold of each; where one is closed, of none.
func holdAll(objects ...*object) error {
	for i, each := range objects {
		if err := each.hold(); err != nil {
			letGoAll(objects[:i])
			return err
		}
	}
	return nil
}

func letGoAll(objects []*object) {
	for _, each := range objects {
		each.letGo()
	}
}

// closeWhenUnreachable closes the object of a value that nobody closed. A call on the value holds
// the object, so one that runs while the value becomes unreachable is not disturbed.
func closeWhenUnreachable[T any](owner *T, o *object) *T {
	runtime.AddCleanup(owner, (*object).close, o)
	return owner
}
