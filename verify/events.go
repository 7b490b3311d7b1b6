package verify

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// marking calls mark for every event that tells something new. A list that
// was taken again brings every object as an update of itself, with the same
// resource version: that is no change, unless it could not be read before. A deletion whose last state was missed
// (a tombstone) marks like any other, since rules look at the listers and
// never at the event.
//
// hear is called with each change under our eyes: an object's state before, nil
// when it is new, and after. arrive is called with each object of the first
// list, and with one that can be read now and has not changed.
func marking(mark func(), arrive func(any), hear func(before, after any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, first bool) {
			if first {
				arrive(obj)
			} else {
				hear(nil, obj)
			}
			mark()
		},
		UpdateFunc: func(before, after any) {
			_, unread := before.(*keptUnreadable)
			switch {
			case resourceVersion(before) != resourceVersion(after) || resourceVersion(after) == "":
				hear(before, after)
			case unread: // what was wrong was the answer, not the object
				arrive(after)
			default:
				return
			}
			mark()
		},
		DeleteFunc: func(any) { mark() },
	}
}

func resourceVersion(obj any) string {
	o, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return o.GetResourceVersion()
}
