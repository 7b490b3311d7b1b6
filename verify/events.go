package verify

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// marking calls mark for every event that tells something new. A list that
// was taken again brings every object as an update of itself, with the same
// resource version: that is no change. A deletion whose last state was missed
// (a tombstone) marks like any other, since rules look at the listers and
// never at the event.
func marking(mark func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { mark() },
		UpdateFunc: func(before, after any) {
			if version(before) != version(after) || version(after) == "" {
				mark()
			}
		},
		DeleteFunc: func(any) { mark() },
	}
}

func version(obj any) string {
	o, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return o.GetResourceVersion()
}
