package verify

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/verify/nodestate"
)

// keptContainer is one container of a pod.
type keptContainer struct {
	of       unique.Handle[program]
	restarts int32
	ended    *ending // the last failure or restart
}

// program is the same for all containers of one name in a workload.
type program struct {
	name  string
	image string // ID, if it runs
	named string // NAME:TAG@DIGEST, if both are known
}

// ending is an unexpected end of a container.
type ending struct {
	at  time.Time
	how string
}

// role is the purpose of a container.
type role byte

const (
	ordinary  role = iota
	initial        // an init container: it ends before the ordinary ones start
	sidecar        // an init container that runs until the ordinary ones end
	debugging      // an ephemeral container (kubectl debug)
)

// containersOf returns the statuses of a pod's containers, init containers first.
func containersOf(p *corev1.Pod) iter.Seq2[*corev1.ContainerStatus, role] {
	return func(yield func(*corev1.ContainerStatus, role) bool) {
		each := func(all []corev1.ContainerStatus, as func(name string) role) bool {
			for i := range all {
				if !yield(&all[i], as(all[i].Name)) {
					return false
				}
			}
			return true
		}
		is := func(r role) func(string) role { return func(string) role { return r } }
		_ = each(p.Status.InitContainerStatuses, func(name string) role { return initRole(p, name) }) &&
			each(p.Status.ContainerStatuses, is(ordinary)) && each(p.Status.EphemeralContainerStatuses, is(debugging))
	}
}

func initRole(p *corev1.Pod, name string) role {
	i := slices.IndexFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 || p.Spec.InitContainers[i].RestartPolicy == nil || *p.Spec.InitContainers[i].RestartPolicy != corev1.ContainerRestartPolicyAlways {
		return initial
	}
	return sidecar
}

// isRestarted reports whether an ordinary container is restarted after it succeeded. The policy of
// the container overrides the policy of the pod.
func isRestarted(p *corev1.Pod, name string) bool {
	policy := p.Spec.RestartPolicy
	i := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if i >= 0 && p.Spec.Containers[i].RestartPolicy != nil {
		policy = corev1.RestartPolicy(*p.Spec.Containers[i].RestartPolicy)
	}
	return policy != corev1.RestartPolicyNever && policy != corev1.RestartPolicyOnFailure
}

// done reports whether an ordinary container succeeded and is not restarted.
func done(p *corev1.Pod, s *corev1.ContainerStatus) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 && !isRestarted(p, s.Name)
}

// finished reports whether all ordinary containers ended and are not restarted. Sidecars are
// stopped then, so their exit codes (137, 143) are no failure.
func finished(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return true
	}
	all := p.Status.ContainerStatuses
	return len(all) > 0 && !slices.ContainsFunc(all, func(s corev1.ContainerStatus) bool { return !done(p, &s) })
}

func keepContainer(p *corev1.Pod, s *corev1.ContainerStatus, as role) keptContainer {
	of := program{name: s.Name, named: imageName(s)}
	if s.State.Running != nil {
		of.image = s.ImageID
	}
	c := keptContainer{of: unique.Make(of), restarts: s.RestartCount}
	switch t, last := s.State.Terminated, s.LastTerminationState.Terminated; {
	case as == debugging:
	case t != nil && t.ExitCode != 0 && !stopped(p, t, as):
		c.ended = &ending{t.FinishedAt.Time, ended(t)}
	case last != nil:
		c.ended = &ending{last.FinishedAt.Time, fmt.Sprintf("%s; restarted, restart count %d", ended(last), s.RestartCount)}
	}
	return c
}

// stopped reports whether the kubelet ended a container on purpose: its pod was deleted before,
// or it is a sidecar of a finished pod.
func stopped(p *corev1.Pod, t *corev1.ContainerStateTerminated, as role) bool {
	if as == sidecar && finished(p) {
		return true
	}
	return p.DeletionTimestamp != nil && !t.FinishedAt.Time.Before(deleted(p))
}

// deleted returns when the deletion of a pod was requested. Its DeletionTimestamp is the end of
// the grace period.
func deleted(p *corev1.Pod) time.Time {
	at := p.DeletionTimestamp.Time
	if grace := p.DeletionGracePeriodSeconds; grace != nil {
		at = at.Add(-time.Duration(*grace) * time.Second)
	}
	return at
}

func imageName(s *corev1.ContainerStatus) string {
	digest, known := reference.DigestOf(s.ImageID)
	if _, fixed := reference.DigestOf(s.Image); !known || fixed {
		return cmp.Or(s.Image, s.ImageID)
	}
	return s.Image + "@" + digest
}

// containerTrouble returns why a container that should run does not run, or "".
func containerTrouble(s *corev1.ContainerStatus) string {
	if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
		return ended(t)
	}
	w := s.State.Waiting
	if w == nil || w.Reason == "PodInitializing" {
		return "" // the status of an init container has the cause
	}
	saw := nodestate.Because(w.Reason, w.Message)
	if t := s.LastTerminationState.Terminated; t != nil {
		saw += "; before that " + ended(t)
	}
	return saw
}

// ended uses only the last line of the message. The message may be the end of a log, up to 2048
// bytes (terminationMessagePolicy FallbackToLogsOnError).
func ended(t *corev1.ContainerStateTerminated) string {
	message := strings.TrimSpace(t.Message)
	last := strings.TrimSpace(message[strings.LastIndex(message, "\n")+1:])
	return fmt.Sprintf("it ended with exit code %d (%s)", t.ExitCode, nodestate.Because(t.Reason, last))
}
