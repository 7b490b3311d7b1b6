package verify

import (
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
)

// keptPod is what is kept of one. What is wrong with it by itself is told when it
// arrives; the rest of it is forgotten. It takes 160 bytes: a cluster has 100,000.
type keptPod struct {
	objectMeta

	from       unique.Handle[origin]
	identity   string // UID; of a static pod its name, which it keeps
	node       string
	created    uint32 // seconds since 1970
	running    bool   // its phase, and not on its way out
	going      bool   // on its way out
	lasts      bool   // it is to run for good
	over       bool   // it has ended, well or badly, and is not started again
	unwell     *trouble
	rare       *rare                // nil of most
	reach      *corev1.PodCondition // of pods that try the data plane
	containers []keptContainer
}

// rare is what few pods have.
type rare struct {
	over    time.Time // when it failed; zero: it did not
	fell    string    // how the pod as a whole ended badly: "evicted from w1: …"
	leaving *leaving
}

// trouble is why a pod does not do its work, and what to do about that; nil: it
// does, or nobody wants it to any more.
type trouble struct {
	why, fix string
	// unlessReplaced: no rule judges its controller, which may have replaced the pod.
	unlessReplaced bool
}

func keepPod(p *corev1.Pod) *keptPod {
	kept := &keptPod{
		objectMeta: metaOf(p.ObjectMeta), from: unique.Make(originOf(p)), node: once(p.Spec.NodeName), identity: string(p.UID),
		created: uint32(max(0, p.CreationTimestamp.Unix())), going: p.DeletionTimestamp != nil, lasts: lasts(p),
		over: p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded, rare: rareOf(p),
	}
	if kept.from.Value().kind == "Node" {
		kept.identity = p.Name
	}
	kept.running = !kept.going && p.Status.Phase == corev1.PodRunning
	kept.unwell = troubleOf(p, kept.from.Value())
	if c, told := condition(p, dataplane.Condition); told {
		kept.reach = &c
	}
	all := p.Status
	kept.containers = make([]keptContainer, 0, len(all.InitContainerStatuses)+len(all.ContainerStatuses)+len(all.EphemeralContainerStatuses))
	for s, as := range containersOf(p) {
		kept.containers = append(kept.containers, keepContainer(p, s, as))
	}
	return kept
}

// lasts says that a pod is there to run for good, and is not on its way out.
func lasts(p *corev1.Pod) bool {
	switch {
	case p.DeletionTimestamp != nil, p.Spec.RestartPolicy == corev1.RestartPolicyNever, p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return false
	default:
		return p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodPending
	}
}

func rareOf(p *corev1.Pod) *rare {
	failed := p.Status.Phase == corev1.PodFailed
	if p.DeletionTimestamp == nil && !failed && !brokeOff(p) {
		return nil
	}
	r := &rare{leaving: leavingOf(p.ObjectMeta)}
	if failed || brokeOff(p) {
		r.over = endOf(p)
	}
	if failed {
		r.fell = fell(p)
	}
	return r
}

// Names of the pod indexes.
const (
	byOwner   = "owner"   // UID of the controller
	byImage   = "image"   // ids of the images that run
	byTrouble = "trouble" // "yes": those that do not do their work
	byLeaving = "leaving" // "yes": those on their way out
)

func podIndexers() cache.Indexers {
	return cache.Indexers{
		byOwner: indexed(func(p *keptPod) []string {
			owner := p.from.Value().owner
			if owner == "" {
				return nil
			}
			return []string{owner}
		}),
		byImage: indexed(func(p *keptPod) []string {
			var ids []string
			for _, c := range p.containers {
				if image := c.of.Value().image; image != "" {
					ids = append(ids, image)
				}
			}
			return ids
		}),
		byTrouble: indexed(func(p *keptPod) []string {
			return yes(p.unwell != nil)
		}),
		byLeaving: indexed(func(p *keptPod) []string { return yes(p.going) }),
	}
}

// yes is the value of an index of few objects: others take no room in it.
func yes(is bool) []string {
	if is {
		return []string{"yes"}
	}
	return nil
}

// indexed is an index function over one type of kept object.
func indexed[T any](values func(T) []string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		if o, is := obj.(T); is {
			return values(o), nil
		}
		return nil, nil
	}
}
