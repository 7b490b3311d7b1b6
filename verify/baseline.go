package verify

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/result"
)

// ClusterID returns the UID of the namespace kube-system, which identifies the cluster. If the
// user is not allowed to get that namespace, it returns the UID of the first namespace of scope.
// A Role in that namespace is enough.
func ClusterID(ctx context.Context, client kubernetes.Interface, scope []string) (string, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	namespace, err := client.CoreV1().Namespaces().Get(limited, metav1.NamespaceSystem, metav1.GetOptions{})
	if apierrors.IsForbidden(err) && len(scope) > 0 {
		namespace, err = client.CoreV1().Namespaces().Get(limited, scope[0], metav1.GetOptions{})
	}
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf("get the cluster ID: %w; give this user the verb get on namespaces", err)
	}
	if err != nil {
		return "", fmt.Errorf("get the cluster ID: %w", err)
	}
	return string(namespace.UID), nil
}

// lastingFindings returns the findings that a later run may find again.
func (e *engine) lastingFindings() []result.KnownFinding {
	all := []result.KnownFinding{}
	for _, r := range e.rules {
		for _, f := range e.board.rows[r.id].findings {
			if !r.stays && !f.Early {
				all = append(all, result.KnownFinding{Finding: f, StableName: e.view.stableName(f.Object)})
			}
		}
	}
	return all
}

// missed returns, by rule, the expected objects that were not seen.
func (e *engine) missed() map[string]string {
	all := map[string]string{}
	for id, row := range e.board.rows {
		if row.unseen != "" {
			all[id] = row.unseen
		}
	}
	return all
}

// ignoreKnown ignores missing objects if the baseline has exactly the same ones for the rule.
func ignoreKnown(b *result.Baseline, rule string, e expectation) expectation {
	if e.missing != "" && e.missing == b.Unseen[rule] {
		return expectation{nothing: "unseen, as in the baseline: " + e.missing, fix: e.fix}
	}
	return e
}

// markKnown marks the findings of a rule that the baseline has too. It compares the lasting name of
// the object and the required state, and marks at most as many findings as the baseline has.
// Findings with the same object come first.
func markKnown(b *result.Baseline, v view, rule string, findings []Finding) {
	type fault struct{ object, want string }
	had, same := map[fault]int{}, map[string]bool{}
	for _, f := range b.Findings {
		if f.Rule == rule {
			had[fault{f.StableName, f.RequiredState()}]++
			same[f.Object] = true
		}
	}
	for _, first := range []bool{true, false} {
		for i := range findings {
			f := &findings[i]
			if of := (fault{v.stableName(f.Object), f.RequiredState()}); same[f.Object] == first && had[of] > 0 {
				had[of]--
				f.Known = true
			}
		}
	}
}
