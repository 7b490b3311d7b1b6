package verify

import (
	"time"
	"unique"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
)

// keptPod has the used fields of a pod. Its own problems are evaluated when it is received. It
// takes 160 bytes, because a cluster may have 100,000 pods.
type keptPod struct {
	objectMeta

	from       unique.Handle[origin]
	uid        uuid.UUID // 16 bytes instead of 64 as a text; rare has other formats
	node       string
	created    uint32 // seconds since 1970
	running    bool   // its phase is Running, and it is not being deleted
	deleting   bool   // it is being deleted
	permanent  bool   // it should run permanently
	over       bool   // it succeeded or failed, and is not restarted
	problem    *trouble
	rare       *rare                // nil for most pods
	reach      *corev1.PodCondition // of data-plane pods
	containers []keptContainer
}

// rare has the fields that few pods need.
type rare struct {
	uid        string    // if it is not a UUID in the format of API servers
	over       time.Time // when it failed; zero: it did not fail
	podFailure string    // why the pod as a whole failed: "evicted from w1: …"
	deletion   *deletion
}

// trouble is why a pod does not do its work, and the fix. nil: it works, or it need not run any
// longer.
type trouble struct {
	why, fix string
	// unlessReplaced: no rule checks its controller, which may have replaced the pod.
	unlessReplaced bool
}

func keepPod(p *corev1.Pod) *keptPod {
	kept := &keptPod{
		objectMeta: metaOf(p.ObjectMeta), from: unique.Make(originOf(p)), node: once(p.Spec.NodeName),
		created: uint32(max(0, p.CreationTimestamp.Unix())), deleting: p.DeletionTimestamp != nil, permanent: permanent(p),
		over: p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded, rare: rareOf(p),
	}
	kept.setUID(string(p.UID))
	kept.running = !kept.deleting && p.Status.Phase == corev1.PodRunning
	kept.problem = troubleOf(p, kept.from.Value())
	if c, found := condition(p, dataplane.Condition); found {
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

// identity returns the UID, or for a static pod its name, which does not change.
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

// permanent reports whether a pod should run permanently and is not being deleted.
func permanent(p *corev1.Pod) bool {
	switch {
	case p.DeletionTimestamp != nil, p.Spec.RestartPolicy == corev1.RestartPolicyNever, p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return false
	default:
		return p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodPending
	}
}

func rareOf(p *corev1.Pod) *rare {
	failed := p.Status.Phase == corev1.PodFailed
	if p.DeletionTimestamp == nil && !failed && !stoppedEarly(p) {
		return nil
	}
	r := &rare{deletion: deletionOf(p.ObjectMeta)}
	if failed || stoppedEarly(p) {
		r.over = endOf(p)
	}
	if failed {
		r.podFailure = podFailure(p)
	}
	return r
}

// Names of the pod indexes.
const (
	byOwner    = "owner"   // UID of the controller
	byImage    = "image"   // IDs of running images
	byTrouble  = "trouble" // "yes": pods that do not do their work
	byDeletion = "leaving" // "yes": pods that are being deleted
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
			return flagged(p.problem != nil)
		}),
		byDeletion: indexed(func(p *keptPod) []string { return flagged(p.deleting) }),
	}
}

// flagged returns the index value of few objects; other objects take no memory in the index.
func flagged(is bool) []string {
	if is {
		return []string{"yes"}
	}
	return nil
}

// indexed returns an index function for one type of kept objects.
func indexed[T any](values func(T) []string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		if o, is := obj.(T); is {
			return values(o), nil
		}
		return nil, nil
	}
}
