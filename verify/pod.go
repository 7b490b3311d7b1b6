package verify

import (
	"time"
	"unique"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
)

// keptPod is what is kept of one. What is wrong with it by itself is told when it
// arrives; the rest of it is forgotten. It takes 160 bytes: a cluster has 100,000.
type keptPod struct {
	objectMeta

	from       unique.Handle[origin]
	uid        uuid.UUID // as 16 bytes, where its text takes 64; rare has another text
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
	uid     string    // that is no UUID as API servers write them
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
		objectMeta: metaOf(p.ObjectMeta), from: unique.Make(originOf(p)), node: once(p.Spec.NodeName),
		created: uint32(max(0, p.CreationTimestamp.Unix())), going: p.DeletionTimestamp != nil, lasts: lasts(p),
		over: p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded, rare: rareOf(p),
	}
	kept.setUID(string(p.UID))
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

func (p *keptPod) setUID(text string) {
	parsed, err := uuid.Parse(text)
	switch {
	case text == "":
	case err == nil && parsed != uuid.Nil && parsed.String() == text:
		p.uid = parsed
	case p.rare == nil:
		p.rare = &rare{uid: text}
	default:
		p.rare.uid = text
	}
}

// identity returns the UID, and of a static pod the name, which it keeps.
func (p *keptPod) identity() string {
	switch {
	case p.from.Value().kind == "Node":
		return p.name
	case p.rare != nil && p.rare.uid != "":
		return p.rare.uid
	case p.uid == uuid.Nil:
		return ""
	default:
		return p.uid.String()
	}
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
