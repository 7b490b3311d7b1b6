package drain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/kubeadm/kube"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	selectors "k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// Budget is a PodDisruptionBudget that no waiting helps against: it lets none of
// its pods be evicted even while all of them are well.
type Budget struct {
	Name string   // NAMESPACE/NAME
	Why  string   // in words
	Pods []string // NAMESPACE/NAME of those that it holds
}

// String returns the PodDisruptionBudget, its pods and the reason.
func (b Budget) String() string {
	return fmt.Sprintf("PodDisruptionBudget %s keeps %s: %s", b.Name, strings.Join(b.Pods, ", "), b.Why)
}

// BlockingBudgets finds the budgets that would block a drain of these nodes indefinitely;
// of all nodes if none is named. Two reasons are known
// (https://kubernetes.io/docs/tasks/run-application/configure-pdb/): the budget
// requires as many pods as its controllers create, by maxUnavailable 0, by minAvailable,
// or by rounding; or two budgets select the same pod, which the eviction API refuses.
func BlockingBudgets(ctx context.Context, client kubernetes.Interface, nodes ...string) ([]Budget, error) {
	pods, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.PodList, error) {
		return client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	budgets, err := budgetsOf(ctx, client)
	if err != nil {
		return nil, err
	}
	held := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return !budgeted(&p) || len(nodes) > 0 && !slices.Contains(nodes, p.Spec.NodeName)
	})
	var all []Budget
	for _, b := range budgets {
		never := Budget{Name: b.name()}
		for _, p := range held {
			if why := b.neverLets(&p, budgets); why != "" {
				never.Why = why
				never.Pods = append(never.Pods, PodName(&p))
			}
		}
		if never.Why != "" {
			all = append(all, never)
		}
	}
	return all, nil
}

// budgeted reports whether the eviction API asks budgets about a pod, and a drain
// asks for it at all.
func budgeted(p *corev1.Pod) bool {
	owner := metav1.GetControllerOf(p)
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() && !static && (owner == nil || owner.Kind != "DaemonSet")
}

// budget is one with its selector read.
type budget struct {
	policyv1.PodDisruptionBudget

	selector selectors.Selector
}

func budgetsOf(ctx context.Context, client kubernetes.Interface) ([]budget, error) {
	list, err := kube.Retry(ctx, func(ctx context.Context) (*policyv1.PodDisruptionBudgetList, error) {
		return client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list PodDisruptionBudgets: %w", err)
	}
	var all []budget
	for _, b := range list.Items {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			return nil, fmt.Errorf("read PodDisruptionBudget %s/%s: %w", b.Namespace, b.Name, err)
		}
		all = append(all, budget{b, selector})
	}
	return all, nil
}

func (b budget) name() string { return b.Namespace + "/" + b.Name }

func (b budget) selects(p *corev1.Pod) bool {
	return b.Namespace == p.Namespace && b.selector.Matches(selectors.Set(p.Labels))
}

// neverLets says why this budget will not let a pod go, or "".
func (b budget) neverLets(p *corev1.Pod, all []budget) string {
	if !b.selects(p) {
		return ""
	}
	i := slices.IndexFunc(all, func(other budget) bool { return other.selects(p) && other.name() != b.name() })
	if i >= 0 {
		return "it is not the only one for them, " + all[i].name() + " is another, and then the API server evicts none"
	}
	if b.always() && !ready(p) || !b.full() {
		return ""
	}
	return fmt.Sprintf("it requires %d of %d healthy pods at all times; relax it, or add a pod", b.Status.DesiredHealthy, b.Status.ExpectedPods)
}

// full reports whether there is no room even with all pods well. A status that
// the controller has not looked at yet says nothing.
func (b budget) full() bool {
	s := b.Status
	return s.ObservedGeneration >= b.Generation && s.ExpectedPods > 0 && s.DesiredHealthy >= s.ExpectedPods
}

// always reports whether pods that are not ready may be evicted all the same.
func (b budget) always() bool {
	policy := b.Spec.UnhealthyPodEvictionPolicy
	return policy != nil && *policy == policyv1.AlwaysAllow
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// holdsNow returns the reason why an evicted pod still exists.
func holdsNow(p *corev1.Pod, all []budget) string {
	if !p.DeletionTimestamp.IsZero() {
		return "has been ending since " + p.DeletionTimestamp.UTC().Format("15:04:05 MST") + "; does its host still answer?"
	}
	var why []string
	for _, b := range all {
		if b.selects(p) {
			why = append(why, fmt.Sprintf("PodDisruptionBudget %s allows %d disruptions: %d pods are healthy, it requires %d", b.name(), b.Status.DisruptionsAllowed, b.Status.CurrentHealthy, b.Status.DesiredHealthy))
		}
	}
	if why == nil {
		return "has not been asked to go yet"
	}
	return strings.Join(why, "; ")
}
