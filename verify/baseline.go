package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Form of a baseline's file. What is added to it later is left out by older
// programs; what changes its meaning gets another version.
const (
	baselineVersion = "airgap.dev/v1alpha1"
	baselineKind    = "VerifyBaseline"
	maxBaseline     = 1 << 30 // bytes
)

// Baseline is a cluster before a change, to tell afterwards what the change
// broke.
type Baseline struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is the UID of the namespace kube-system, which no other cluster has.
	Cluster string `json:"cluster"`
	// Namespaces are the only ones that it is of; none: it is of the whole cluster. An
	// older airgap does not say (nil).
	Namespaces []string `json:"namespaces"`

	Taken    time.Time      `json:"taken"`
	About    About          `json:"about"`
	OK       bool           `json:"ok"` // the verdict of then
	Findings []KnownFinding `json:"findings"`
	// Unseen says what rules missed then, by id: "no NodeReport: w2". An older airgap does
	// not say (nil).
	Unseen   map[string]string `json:"unseen,omitempty"`
	Snapshot Snapshot          `json:"snapshot"`
}

// KnownFinding is a finding with the name that its object's successors share.
type KnownFinding struct {
	Finding
	Lasting string `json:"lasting"` // "Pod of DaemonSet kube-system/kube-proxy on w1"
}

// ClusterID is what tells a cluster from all others: the UID of its namespace
// kube-system. For a user who may not get that, it is the UID of the first namespace of
// scope, for which a Role there is enough.
func ClusterID(ctx context.Context, client kubernetes.Interface, scope []string) (string, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	namespace, err := client.CoreV1().Namespaces().Get(limited, metav1.NamespaceSystem, metav1.GetOptions{})
	if apierrors.IsForbidden(err) && len(scope) > 0 {
		namespace, err = client.CoreV1().Namespaces().Get(limited, scope[0], metav1.GetOptions{})
	}
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf("ask which cluster it is: %w; give this user the verb get on namespaces", err)
	}
	if err != nil {
		return "", fmt.Errorf("ask which cluster it is: %w", err)
	}
	return string(namespace.UID), nil
}

// ReadBaseline reads what Write wrote. The error says what else it is.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBaseline:
		return nil, fmt.Errorf("larger than a baseline can be (%d bytes)", maxBaseline)
	case len(data) == 0:
		return nil, errors.New("it is empty")
	}
	var b Baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("damaged, or no baseline: %w", err)
	}
	switch {
	case b.Kind != baselineKind:
		return nil, fmt.Errorf("no baseline of airgap verify: kind %q, want %q", b.Kind, baselineKind)
	case b.APIVersion != baselineVersion:
		return nil, fmt.Errorf("a baseline of another release of airgap: apiVersion %q, want %q", b.APIVersion, baselineVersion)
	case b.Cluster == "" || b.Taken.IsZero() || b.Snapshot.Nodes == nil || b.Snapshot.Workloads == nil || b.Snapshot.Containers == nil:
		return nil, errors.New("damaged: the cluster, the time or the snapshot is missing")
	}
	return &b, nil
}

// Write writes the baseline as JSON.
func (b Baseline) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(b)
}

// NewBaseline is what the report saw last of the cluster with this id. It is
// nil where the cluster was never seen.
func NewBaseline(r Report, cluster string) *Baseline {
	if r.snapshot == nil {
		return nil
	}
	return &Baseline{
		APIVersion: baselineVersion, Kind: baselineKind, Cluster: cluster, Taken: r.Began.Add(r.Took).Round(time.Second),
		About: r.About, OK: r.OK, Findings: r.lasting, Unseen: r.missed, Snapshot: *r.snapshot,
	}
}

// lasting are the findings that a later run may find again.
func (e *engine) lasting() []KnownFinding {
	all := []KnownFinding{}
	for _, r := range e.rules {
		for _, f := range e.board.rows[r.id].findings {
			if !r.stays && !f.early {
				all = append(all, KnownFinding{f, e.view.lasting(f.Object)})
			}
		}
	}
	return all
}

// missed names the objects that each rule expected and did not see.
func (e *engine) missed() map[string]string {
	all := map[string]string{}
	for id, row := range e.board.rows {
		if row.unseen != "" {
			all[id] = row.unseen
		}
	}
	return all
}

// forgive lets a rule that misses the very same as in the baseline decide nothing.
func (b *Baseline) forgive(rule string, e expectation) expectation {
	if e.missing != "" && e.missing == b.Unseen[rule] {
		return expectation{nothing: "unseen as in the baseline: " + e.missing, fix: e.fix}
	}
	return e
}

// know marks those findings of a rule that the baseline had too: as many of an
// object, by its lasting name, that lack the same, as there were. Those of the very
// same object come first.
func (b *Baseline) know(v view, rule string, findings []Finding) {
	type fault struct{ object, want string }
	had, same := map[fault]int{}, map[string]bool{}
	for _, f := range b.Findings {
		if f.Rule == rule {
			had[fault{f.Lasting, lacks(f.Finding)}]++
			same[f.Object] = true
		}
	}
	for _, first := range []bool{true, false} {
		for i := range findings {
			f := &findings[i]
			if of := (fault{v.lasting(f.Object), lacks(*f)}); same[f.Object] == first && had[of] > 0 {
				had[of]--
				f.known = true
			}
		}
	}
}

var numbered = regexp.MustCompile(`v?\d[\w.:-]*`)

// lacks is what a finding wants, whatever its numbers: a version, a count or a time may be
// another one by now.
func lacks(f Finding) string { return numbered.ReplaceAllString(f.Want, "#") }
