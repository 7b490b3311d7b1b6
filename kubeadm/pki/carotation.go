package pki

import (
	"context"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/phases"
)

// CARotation is a CA rotation: it replaces a CA on all hosts of a cluster. The order of its
// phases ensures that no program receives a certificate that it does not trust. All hosts complete
// a phase before the next one starts on any host:
//
//  1. airgap creates the new CA, and all programs and pods that trust the old CA restart and
//     trust both;
//  2. the key of the new CA replaces the key of the old one, and signs every certificate of the
//     control plane;
//  3. kubelets request new certificates from it, if the old CA has signed their certificates;
//  4. the old CA is removed, and all programs restart and trust only the new one.
//
// It runs on every host that takes part. The control-plane host on which it starts leads. The
// others follow: the control-plane hosts one at a time, then all workers. Files, start times of
// programs and a record show the completed work, so the next run continues an interrupted
// rotation.
type CARotation struct {
	Machine   host.Machine
	Authority CA
	Units     []string // airgap's own units that read the cluster CA at their start
	Pods      PodsPolicy
	Follow    bool // never lead
	// Others makes the other hosts follow, until they are done or the context ends; nil if the
	// operator runs the command there.
	Others func(ctx context.Context) error
	Say    func(format string, args ...any)

	connect func(kubeconfig string) (kubernetes.Interface, error) // nil is Machine.Client
}

// CARotated is the result of a rotation.
type CARotated struct {
	Authority string   `json:"authority"`
	Files     []string `json:"files"`            // files of this host with certificates of the new CA
	Resumed   bool     `json:"resumed"`          // the run continued an interrupted rotation
	Leader    string   `json:"leader,omitempty"` // the host that this one followed
	Trusting  []string `json:"trusting"`         // workloads with pods that trust the old CA until they restart, as "deployment/NAME -n NAMESPACE"
}

// ErrNoLeader is the error of a host that must follow before a leader has started the rotation.
var ErrNoLeader = errors.New("no host leads a rotation")

// replacementName is the name of the Secret with the rotation state that all hosts read.
const replacementName = "airgap-authority"

// phaseNote is the annotation of each Node with the fingerprint of the new CA and the phase that
// its host has reached: FINGERPRINT/PHASE.
const phaseNote = "airgap.dev/authority"

// Run runs the rotation until its end.
func (r CARotation) Run(ctx context.Context) (CARotated, error) {
	waiting := func() { r.Say("wait for kubeadm, which an interrupted run left running") }
	if err := node.Await(ctx, r.Machine, waiting); err != nil {
		return CARotated{}, err
	}
	node, err := node.Name(r.Machine)
	if err != nil {
		return CARotated{}, err
	}
	record, err := loadRotation(r.Machine)
	if err != nil {
		return CARotated{}, err
	}
	if record.Authority != "" && record.Authority != r.Authority.Name {
		return CARotated{}, RefuseDuringCARotation(r.Machine, "rotate the CA of "+r.Authority.Name)
	}
	p := &rotationMember{CARotation: r, node: node, done: CARotated{Authority: r.Authority.Name, Resumed: record.Authority != ""}}
	if p.done.Resumed {
		r.Say("continue the interrupted rotation")
	}
	m, err := p.read(ctx)
	if err != nil {
		return p.done, err
	}
	switch {
	case m != nil && string(m.Data[authorityField]) != r.Authority.Name:
		return p.done, &host.Failure{What: "rotate the CA of " + r.Authority.Name, Err: fmt.Errorf("%s leads the rotation of another CA, of %s", m.Leader, m.Data[authorityField]), Next: "complete that one first: airgap certs rotate-ca --only " + string(m.Data[authorityField])}
	case m == nil && record.Reached == only:
		return p.ended(p.end()) // only the last step is missing
	case m != nil && m.Leader != node:
		return p.follow(ctx, m.Leader)
	case r.Follow || !p.controlPlane():
		return p.done, &host.Failure{What: "follow the rotation of the CA of " + r.Authority.Name, Err: ErrNoLeader, Next: "start it on a control-plane host: airgap certs rotate-ca"}
	}
	return p.lead(ctx, m)
}

// rotationMember is a rotation on one of the hosts.
type rotationMember struct {
	CARotation

	node string
	done CARotated
}

func (p *rotationMember) ended(err error) (CARotated, error) { return p.done, err }

// The fields of the Secret in addition to those of package exchange.
const (
	authorityField = "authority" // name of the CA
	oldField       = "old.crt"
	freshField     = "new.crt"
	trustedField   = "trusted" // the time since which new pods read both CAs, RFC 3339
)

func (p *rotationMember) controlPlane() bool {
	return p.Machine.Recorded(node.ManifestOf(node.APIServer))
}

// client returns a client with the administrator's kubeconfig on a control-plane host, and with the
// kubelet's on a worker. It reads the file each time, because its certificates change during the
// rotation.
func (p *rotationMember) client() (kubernetes.Interface, error) {
	if p.controlPlane() {
		return p.as(kube.AdminConf)
	}
	return p.as(kube.KubeletConf)
}

func (p *rotationMember) as(kubeconfig string) (kubernetes.Interface, error) {
	if p.connect != nil {
		return p.connect(kubeconfig)
	}
	return kube.Client(p.Machine, kubeconfig)
}

func (p *rotationMember) exchange() (phases.Coordinator, error) {
	client, err := p.client()
	return phases.Coordinator{Client: client, Node: p.node, Name: replacementName}, err
}

// read returns the rotation state, nil if no rotation is in progress. It repeats: API servers
// restart during the rotation, and one that has just started answers Forbidden for a short time.
// A kubelet may read the Secret only while it exists, so a lasting Forbidden means nil.
func (p *rotationMember) read(ctx context.Context) (m *phases.State, err error) {
	var refused time.Time
	err = await.Until(ctx, readyTime, func(ctx context.Context) error {
		x, err := p.exchange()
		if err == nil {
			m, err = x.Read(ctx)
		}
		switch {
		case !apierrors.IsForbidden(err):
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		case time.Since(refused) > 20*await.Interval(ctx):
			return nil
		}
		return err
	})
	return m, err
}

// hostRotation returns the rotation on this host, between the two CAs of the rotation state.
func (p *rotationMember) hostRotation(m *phases.State, key []byte) hostRotation {
	return hostRotation{
		Machine: p.Machine, authority: p.Authority, node: p.node, units: p.Units, say: p.Say,
		old: m.Data[oldField], fresh: m.Data[freshField], key: key,
		client: func() (kubernetes.Interface, error) { return p.as(kube.KubeletConf) },
	}
}

// note publishes the phase of this host in its Node's annotation, with the kubelet's identity.
func (p *rotationMember) note(ctx context.Context, to string, reached phases.Phase) error {
	return await.Until(ctx, readyTime, func(ctx context.Context) error {
		client, err := p.as(kube.KubeletConf)
		if err != nil {
			return err
		}
		return noteNode(ctx, client, p.node, noteOf(to, reached))
	})
}

func noteOf(to string, reached phases.Phase) string { return to + "/" + string(reached) }

// end removes the files of the rotation on this host.
func (p *rotationMember) end() error {
	files, err := signedFiles(p.Machine, p.Authority)
	if err != nil {
		return err
	}
	p.done.Files = files
	if err := removeNext(p.Machine, p.Authority); err != nil {
		return err
	}
	return host.Remove(p.Machine.Path(RotationFile))
}

// signedFiles returns the files of this host with a certificate of the CA. It returns an error if
// another CA has signed one of them.
func signedFiles(m host.Machine, a CA) ([]string, error) {
	names := a.leaves
	if a.nodes {
		names = append(slices.Clip(names), node.KubeletClientCert)
	}
	text, err := os.ReadFile(m.Path(a.file))
	if err != nil {
		return nil, err
	}
	others, err := unsigned(m, names, text)
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("still not signed by the CA of %s: %v", a.Name, others)
	}
	files := []string{}
	for _, name := range names {
		if m.Recorded(name) {
			files = append(files, name)
		}
	}
	return files, err
}

// fingerprint distinguishes CAs of the same name: the first eight bytes of the certificate's
// SHA-256 in hexadecimal. It is "" if the text is not PEM.
func fingerprint(certificate []byte) string {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return fmt.Sprintf("%x", sum[:8])
}

// member is a host that takes part in the rotation.
type member struct {
	name         string
	controlPlane bool
}

// members returns the hosts that trust a CA, and the names of those with a Node that is not ready.
func members(ctx context.Context, client kubernetes.Interface, a CA) (all []member, unready []string, err error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list the nodes: %w", err)
	}
	for _, n := range nodes.Items {
		_, controlPlane := n.Labels[kube.ControlPlaneLabel]
		if !a.OnAllHosts() && !controlPlane {
			continue
		}
		all = append(all, member{n.Name, controlPlane})
		if !kube.NodeReady(&n) {
			unready = append(unready, n.Name)
		}
	}
	return all, unready, nil
}
