package verify

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// marking calls mark for every event with news. A repeated list sends every object as an update
// with the same resourceVersion. That is no change, unless the object could not be read before.
// A deletion without a last state (a tombstone) also marks: rules read the listers, not the
// events.
//
// observe is called with each observed change: the object before, nil if it is new, and after.
// markReadable is called with each object of the first list, and with an unchanged object that can be
// read now.
func marking(mark func(), markReadable func(any), observe func(before, after any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, first bool) {
			if first {
				markReadable(obj)
			} else {
				observe(nil, obj)
			}
			mark()
		},
		UpdateFunc: func(before, after any) {
			_, unread := before.(*keptUnreadable)
			switch {
			case resourceVersion(before) != resourceVersion(after) || resourceVersion(after) == "":
				observe(before, after)
			case unread: // the answer was wrong, not the object
				markReadable(after)
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
