package verify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
)

// keptPod is what is kept of one. What is wrong with it by itself is told when it
// arrives; the rest of it is forgotten.
type keptPod struct {
	objectMeta

	identity   string // UID; of a static pod its name, which it keeps
	node       string
	owner      string // UID of its controller
	ownerKind  string // of its Deployment where a ReplicaSet is between; "Node" of a static pod
	ownerName  string
	app        string // label app.kubernetes.io/name
	running    bool   // its phase, and not on its way out
	going      bool   // on its way out
	lasts      bool   // it is to run for good
	trouble    string // why it does not do its work; "": it does, or nobody wants it to any more
	fix        string // what to do about that
	evicted    *ending
	reach      *corev1.PodCondition // of pods that try the data plane
	containers []keptContainer
}

// keptContainer is one that a pod has or had.
type keptContainer struct {
	name     string
	image    string // id, of one that runs
	named    string // NAME:TAG@DIGEST, where both are known
	restarts int32
	ended    *ending // how it ended last, badly or so that it was started again
}

// ending is one that nobody wished for.
type ending struct {
	at  time.Time
	how string
}

func keepPod(p *corev1.Pod) *keptPod {
	kept := &keptPod{
		objectMeta: metaOf(p.ObjectMeta), node: once(p.Spec.NodeName), owner: once(controllerOf(p)),
		app: once(p.Labels[dataplane.LabelName]), going: p.DeletionTimestamp != nil,
		lasts: lasts(p), trouble: trouble(p), evicted: evicted(p), identity: string(p.UID),
	}
	kept.ownerKind, kept.ownerName = ownerOf(p)
	if kept.ownerKind == "Node" {
		kept.identity = p.Name
	}
	kept.running = !kept.going && p.Status.Phase == corev1.PodRunning
	if kept.trouble != "" {
		kept.fix = podFix(p)
	}
	if c, told := condition(p, dataplane.Condition); told {
		kept.reach = &c
	}
	all := statuses(p)
	kept.containers = make([]keptContainer, len(all))
	for i, s := range all {
		kept.containers[i] = keepContainer(s)
	}
	return kept
}

func keepContainer(s corev1.ContainerStatus) keptContainer {
	c := keptContainer{name: once(s.Name), named: once(imageName(s)), restarts: s.RestartCount}
	if s.State.Running != nil {
		c.image = once(s.ImageID)
	}
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

// ownerOf is who brings a pod back, or "".
func ownerOf(p *corev1.Pod) (kind, name string) {
	owner := metav1.GetControllerOf(p)
	if owner == nil {
		return "", ""
	}
	kind, name = owner.Kind, owner.Name
	if hash := p.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" {
		kind, name = "Deployment", strings.TrimSuffix(name, "-"+hash)
	}
	return once(kind), once(name)
}

func controllerOf(p *corev1.Pod) string {
	for _, owner := range p.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return string(owner.UID)
		}
	}
	return ""
}

// statuses are those of all containers: init, ordinary and ephemeral ones.
func statuses(p *corev1.Pod) []corev1.ContainerStatus {
	s := p.Status
	all := make([]corev1.ContainerStatus, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses)+len(s.EphemeralContainerStatuses))
	all = append(all, s.InitContainerStatuses...)
	all = append(all, s.ContainerStatuses...)
	return append(all, s.EphemeralContainerStatuses...)
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
			if p.owner == "" {
				return nil
			}
			return []string{p.owner}
		}),
		byImage: indexed(func(p *keptPod) []string {
			var ids []string
			for _, c := range p.containers {
				if c.image != "" {
					ids = append(ids, c.image)
				}
			}
			return ids
		}),
		byTrouble: indexed(func(p *keptPod) []string {
			if p.trouble == "" {
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
