package verify

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"airgap.dev/airgap/verify/result"
)

// doubt is the reason why a kind is not confirmed.
type doubt struct {
	kind      kind
	namespace string // "" for all
	object    string // the object that cannot be read; "" for the whole kind
	saw       string
	reason    error // from the API server; nil: none
	since     time.Time
	early     bool // its first list has just begun: not worth a report
	never     bool // it has not been listed in this session
}

func (d *doubt) String() string {
	return fmt.Sprintf("%s: %s (since %s)", d.title(), d.cause(), d.since.UTC().Format(time.RFC3339))
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
	return Finding{Object: d.title(), Saw: d.cause(), Want: "the API server lists and watches it, and airgap can read it", Fix: d.fix(), Since: d.since}
}

// stale returns which kind of a rule the API server has not confirmed within the bounds, why and
// since when; "": all are confirmed.
func (v view) stale(r rule) string {
	if doubts := v.doubtsOf(r); len(doubts) > 0 {
		return doubts[0].String()
	}
	return ""
}

// listed reports whether each of these kinds that is watched has a complete list.
func (v view) listed(kinds []kind) bool {
	for _, k := range kinds {
		if slices.ContainsFunc(v.informers[k], func(one *informer) bool { return !one.shared.HasSynced() }) {
			return false
		}
	}
	return true
}

// doubts returns the doubts about these kinds.
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

// doubtsOf returns the doubts that prevent the evaluation of a rule.
func (v view) doubtsOf(r rule) []*doubt {
	return append(v.doubts(r.watches), slices.DeleteFunc(v.doubts(r.extraKinds()), (*doubt).refused)...)
}

// hidden returns the doubts about optional kinds that the user must not read. The rule is
// evaluated without them: its findings are valid, but it cannot be ok.
func (r rule) hidden(v view) []*doubt {
	return slices.DeleteFunc(v.doubts(r.extraKinds()), func(d *doubt) bool { return !d.refused() })
}

// refused reports that nothing of the kind is known. A list from before the refusal is outdated.
func (d *doubt) refused() bool {
	return d.never && (apierrors.IsForbidden(d.reason) || apierrors.IsNotFound(d.reason))
}

// doubtful returns all doubts about the kinds of a rule.
func (r rule) doubtful(v view) string { return fmt.Sprint(v.doubts(r.kinds())) }

// unreadable returns the objects of these kinds with an unexpected format.
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
