package status

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/verify/nodereport"
)

// clusterHealth is the state of the cluster in one line, from one request to an API server.
// airgap verify checks the cluster.
type clusterHealth struct {
	OK   bool   `json:"ok"`
	Says string `json:"says"` // "3 of 3 nodes are ready", "the API server is silent: …"
}

// keptBackup is the newest backup of this host.
type keptBackup struct {
	Dir   string    `json:"dir"`
	Taken time.Time `json:"taken"`
	Bytes int64     `json:"bytes"`

	Encrypted bool   `json:"encrypted,omitempty"`
	Key       string `json:"key,omitempty"` // fingerprint of the key that signs this host's backups; "" if the user may not read it
}

const (
	healthTimeout = 5 * time.Second
	soonEnds      = 30 * 24 * time.Hour // as verify has it, of certificates
	oldBackup     = 48 * time.Hour      // as verify has it
)

// tellHost says which machine this is, as far as it tells.
func (st *Status) tellHost(h host.Host) {
	st.Host, _ = os.Hostname()
	st.Kernel, _ = nodereport.Kernel(h)
	st.System = systemName(h)
	st.Program = version.String()
}

// systemName is PRETTY_NAME of os-release(5).
func systemName(h host.Host) string {
	f, err := h.FS().Open("etc/os-release")
	if err != nil {
		return ""
	}
	defer f.Close()
	text := make([]byte, 4096)
	n, _ := f.Read(text) // a short file is complete
	for line := range strings.Lines(string(text[:n])) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); is {
			return strings.Trim(name, `"'`)
		}
	}
	return ""
}

// tellHealth collects the cheap parts of a node's state: the cluster, certificates, backups.
func (st *Status) tellHealth(ctx context.Context, m kubeadm.Machine) {
	var err error
	st.Health, err = st.askCluster(ctx, m)
	st.problem(err)
	list, err := certs.Of(m.Host)
	st.problem(err)
	st.Certificates = endSoon(list, st.now)
	if !slices.Contains(st.Roles, config.ControlPlane) || !site.Exists(kube.AdminConf) {
		return
	}
	st.tellChanging(ctx, m)
	newest, err := site.Backups().Newest()
	st.problem(err)
	st.Unsaved = err == nil && newest == nil
	if newest != nil {
		st.Backup = &keptBackup{newest.Dir, newest.Taken, newest.Bytes, newest.Encrypted, site.BackupKey()}
	}
}

// endSoon are the certificates that end within 30 days, unless it is the kubelet that
// renews them, and those that have ended or are not valid yet.
func endSoon(list []certs.Certificate, now time.Time) []certs.Certificate {
	return slices.DeleteFunc(list, func(c certs.Certificate) bool {
		margin := soonEnds
		if c.Renewed == nodereport.RenewedByKubelet {
			margin = 0
		}
		return c.Span().Trouble(now, margin) == ""
	})
}

// askCluster asks as the administrator for all nodes, on a worker as the kubelet for
// its own one; nil where this host is no node yet.
func (st *Status) askCluster(ctx context.Context, m kubeadm.Machine) (*clusterHealth, error) {
	conf := kube.AdminConf
	if !site.Exists(conf) {
		conf = kube.KubeletConf
	}
	if !site.Exists(conf) {
		return nil, nil //nolint:nilnil // as said above
	}
	client, err := kube.Client(m.Machine, conf)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if conf == kube.AdminConf {
		all, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return silent(err), nil
		}
		return st.judgeNodes(all.Items), nil
	}
	own, err := client.CoreV1().Nodes().Get(ctx, st.Node, metav1.GetOptions{})
	if err != nil {
		return silent(err), nil
	}
	return judgeNode(own), nil
}

func silent(err error) *clusterHealth {
	return &clusterHealth{Says: "the API server does not answer: " + err.Error()}
}

// judgeNodes does not count nodes that are absent and not ready.
func (st *Status) judgeNodes(all []corev1.Node) *clusterHealth {
	var bad, away []string
	for i := range all {
		switch name := all[i].Name; {
		case isReady(&all[i]):
		case st.mayBeDown(name):
			away = append(away, name)
		default:
			bad = append(bad, name)
		}
	}
	present := len(all) - len(away)
	h := &clusterHealth{OK: len(bad) == 0, Says: fmt.Sprintf("%d of %s ready", present-len(bad), ui.Count(present, "node"))}
	if len(away) > 0 {
		h.Says += "; absent " + hostrange.Join(away)
	}
	if !h.OK {
		h.Says += "; not " + strings.Join(bad, ", ")
	}
	return h
}

func judgeNode(own *corev1.Node) *clusterHealth {
	if isReady(own) {
		return &clusterHealth{OK: true, Says: "this node is ready"}
	}
	return &clusterHealth{Says: "this node is not ready"}
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
