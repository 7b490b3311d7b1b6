package verify

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"airgap.dev/airgap/verify/result"
)

// doubt is why one kind was not confirmed.
type doubt struct {
	kind      kind
	namespace string // "" for all
	object    string // the one that cannot be read; "" for the kind as a whole
	saw       string
	reason    error // of the API server; nil: it gave none
	since     time.Time
	early     bool // its first list has only begun: no news
	never     bool // it was not listed in this session
}

func (d *doubt) String() string {
	return fmt.Sprintf("%s: %s since %s", d.title(), d.cause(), d.since.UTC().Format(time.RFC3339))
}

func (d *doubt) title() string {
	switch {
	case d.object != "":
		return d.object
	case d.namespace == "":
		return "Kind " + string(d.kind)
	default:
		return "Kind " + string(d.kind) + " in namespace " + d.namespace
	}
}

func (d *doubt) cause() string {
	if d.reason == nil {
		return d.saw
	}
	return result.OneLine(d.saw + ": " + d.reason.Error())
}

func (d *doubt) finding() Finding {
	return Finding{Object: d.title(), Saw: d.cause(), Want: "the API server lists and watches it, and it can be read", Fix: d.fix(), Since: d.since}
}

// stale says which kind that a rule reads the API server has not confirmed within the
// bounds, why and since when; "" when all are confirmed.
func (v view) stale(r rule) string {
	if doubts := v.doubtsOf(r); len(doubts) > 0 {
		return doubts[0].String()
	}
	return ""
}

// listed tells whether there has been a complete list of each of these kinds that is watched.
func (v view) listed(kinds []kind) bool {
	for _, k := range kinds {
		if slices.ContainsFunc(v.informers[k], func(one *informer) bool { return !one.shared.HasSynced() }) {
			return false
		}
	}
	return true
}

// doubts are those about these kinds.
func (v view) doubts(kinds []kind) []*doubt {
	var all []*doubt
	for _, k := range kinds {
		for _, w := range v.informers[k] {
			if d := w.doubt(v.now, v.bounds, w.shared.HasSynced(), w.shared.GetIndexer().LastStoreSyncResourceVersion()); d != nil {
				all = append(all, d)
			}
		}
	}
	return all
}

// doubtsOf are those that keep a rule from being judged.
func (v view) doubtsOf(r rule) []*doubt {
	return append(v.doubts(r.watches), slices.DeleteFunc(v.doubts(r.besides()), (*doubt).refused)...)
}

// hidden are those about kinds that who verifies may not read, and without which a rule is
// judged: what it finds is so, and it cannot hold.
func (r rule) hidden(v view) []*doubt {
	return slices.DeleteFunc(v.doubts(r.besides()), func(d *doubt) bool { return !d.refused() })
}

// refused says that nothing of the kind is known. What was listed before it was refused is old.
func (d *doubt) refused() bool {
	return d.never && (apierrors.IsForbidden(d.reason) || apierrors.IsNotFound(d.reason))
}

// doubtful is all that is doubted of what a rule reads.
func (r rule) doubtful(v view) string { return fmt.Sprint(v.doubts(r.kinds())) }

// unreadable are the objects of these kinds that are there and have another form than
// theirs.
func (v view) unreadable(kinds []kind) []*doubt {
	var all []*doubt
	for _, k := range kinds {
		for _, c := range v.caches[k] {
			found, _ := c.ByIndex(byUnreadable, "")
			for _, o := range collect[*keptUnreadable](nil, found) {
				all = append(all, &doubt{kind: k, object: o.title(o.kind), saw: "it cannot be read: " + o.why, since: o.since})
			}
		}
	}
	return all
}
