package verify

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
)

// keptPod is what is kept of one. What is wrong with it by itself is told when it
// arrives; the rest of it is forgotten.
type keptPod struct {
	objectMeta

	from       unique.Handle[origin]
	identity   string // UID; of a static pod its name, which it keeps
	node       string
	running    bool // its phase, and not on its way out
	going      bool // on its way out
	lasts      bool // it is to run for good
	unwell     *trouble
	evicted    *ending
	reach      *corev1.PodCondition // of pods that try the data plane
	containers []keptContainer
}

// origin is what all pods of one owner have in common, and keep once.
type origin struct {
	owner string // UID of the controller
	kind  string // of the Deployment where a ReplicaSet is between; "Node" of a static pod
	name  string
	app   string // label app.kubernetes.io/name
}

// trouble is why a pod does not do its work, and what to do about that; nil: it
// does, or nobody wants it to any more.
type trouble struct{ why, fix string }

// keptContainer is one that a pod has or had.
type keptContainer struct {
	of       unique.Handle[program]
	restarts int32
	ended    *ending // how it ended last, badly or so that it was started again
}

// program is what all containers of one name in a workload have in common.
type program struct {
	name  string
	image string // id, of one that runs
	named string // NAME:TAG@DIGEST, where both are known
}

// ending is one that nobody wished for.
type ending struct {
	at  time.Time
	how string
}

func keepPod(p *corev1.Pod) *keptPod {
	kept := &keptPod{
		objectMeta: metaOf(p.ObjectMeta), from: unique.Make(originOf(p)), node: once(p.Spec.NodeName),
		going: p.DeletionTimestamp != nil, lasts: lasts(p), evicted: evicted(p), identity: string(p.UID),
	}
	if kept.from.Value().kind == "Node" {
		kept.identity = p.Name
	}
	kept.running = !kept.going && p.Status.Phase == corev1.PodRunning
	if why := troubleOf(p); why != "" {
		kept.unwell = &trouble{why, podFix(p)}
	}
	if c, told := condition(p, dataplane.Condition); told {
		kept.reach = &c
	}
	own := statuses(p)
	all := append(own, p.Status.EphemeralContainerStatuses...)
	kept.containers = make([]keptContainer, len(all))
	for i, s := range all {
		kept.containers[i] = keepContainer(s)
		if i >= len(own) { // somebody looked into the pod (kubectl debug): how that ended says nothing of it
			kept.containers[i].ended = nil
		}
	}
	return kept
}

func keepContainer(s corev1.ContainerStatus) keptContainer {
	of := program{name: s.Name, named: imageName(s)}
	if s.State.Running != nil {
		of.image = s.ImageID
	}
	c := keptContainer{of: unique.Make(of), restarts: s.RestartCount}
	if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
		c.ended = &ending{t.FinishedAt.Time, ended(t)}
	} else if t := s.LastTerminationState.Terminated; t != nil {
		c.ended = &ending{t.FinishedAt.Time, fmt.Sprintf("%s; started again, restarts: %d", ended(t), s.RestartCount)}
	}
	return c
}

func imageName(s corev1.ContainerStatus) string {
	_, digest, known := strings.Cut(s.ImageID, "@")
	if !known || strings.Contains(s.Image, "@") {
		return cmp.Or(s.Image, s.ImageID)
	}
	return s.Image + "@" + digest
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

// evicted is how a pod was thrown off its node, or nil.
func evicted(p *corev1.Pod) *ending {
	if p.Status.Phase != corev1.PodFailed || p.Status.Reason != "Evicted" {
		return nil
	}
	at := p.CreationTimestamp.Time
	for _, c := range p.Status.Conditions {
		if c.LastTransitionTime.After(at) {
			at = c.LastTransitionTime.Time
		}
	}
	return &ending{at, "evicted from " + p.Spec.NodeName + ": " + because("", p.Status.Message)}
}

func originOf(p *corev1.Pod) origin {
	from := origin{app: p.Labels[dataplane.LabelName]}
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return from
	}
	from.owner, from.kind, from.name = string(owner.UID), owner.Kind, owner.Name
	if hash := p.Labels["pod-template-hash"]; from.kind == "ReplicaSet" && hash != "" {
		from.kind, from.name = "Deployment", strings.TrimSuffix(from.name, "-"+hash)
	}
	return from
}

// statuses are those of the containers that a pod does its work by: init and ordinary ones.
func statuses(p *corev1.Pod) []corev1.ContainerStatus {
	s := p.Status
	all := make([]corev1.ContainerStatus, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses)+len(s.EphemeralContainerStatuses))
	all = append(all, s.InitContainerStatuses...)
	return append(all, s.ContainerStatuses...)
}

// Names of the pod indexes.
const (
	byOwner   = "owner"   // UID of the controller
	byImage   = "image"   // ids of the images that run
	byTrouble = "trouble" // "yes": those that do not do their work
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
			if p.unwell == nil {
				return nil
			}
			return []string{"yes"}
		}),
	}
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
