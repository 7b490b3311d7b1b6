package verify

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
)

// keptPod is what is kept of one. What is wrong with it by itself is told when it
// arrives; the rest of it is forgotten.
type keptPod struct {
	objectMeta

	node       string
	owner      string               // UID of its controller
	app        string               // label app.kubernetes.io/name
	running    bool                 // its phase, and not on its way out
	going      bool                 // on its way out
	trouble    string               // why it does not do its work; "": it does, or nobody wants it to any more
	fix        string               // what to do about that
	reach      *corev1.PodCondition // of pods that try the data plane
	containers []keptContainer
}

// keptContainer is one that a pod has or had.
type keptContainer struct {
	name     string
	image    string // id, of one that runs
	restarts int32
	ended    *ending // how it ended last, badly
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
		trouble: trouble(p),
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
	c := keptContainer{name: once(s.Name), restarts: s.RestartCount}
	if s.State.Running != nil {
		c.image = once(s.ImageID)
	}
	for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if t != nil && t.ExitCode != 0 {
			c.ended = &ending{t.FinishedAt.Time, ended(t)}
			break
		}
	}
	return c
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
		byOwner: of(func(p *keptPod) []string {
			if p.owner == "" {
				return nil
			}
			return []string{p.owner}
		}),
		byImage: of(func(p *keptPod) []string {
			var ids []string
			for _, c := range p.containers {
				if c.image != "" {
					ids = append(ids, c.image)
				}
			}
			return ids
		}),
		byTrouble: of(func(p *keptPod) []string {
			if p.trouble == "" {
				return nil
			}
			return []string{"yes"}
		}),
	}
}

// of is an index function over one type of kept object.
func of[T any](values func(T) []string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		if o, is := obj.(T); is {
			return values(o), nil
		}
		return nil, nil
	}
}
