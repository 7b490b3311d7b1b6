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
	"airgap.dev/airgap/kubeadm/exchange"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// Replacement puts a new authority in the place of one, on all hosts of a cluster.
// Its phases are in the order in which no program ever meets a certificate that it
// does not trust; each is reached by all hosts before the next begins on one:
//
//  1. the new authority is made, and everybody who trusts the old one is started
//     anew, trusting both; pods too, if they trust it;
//  2. the new one's key takes the old one's place, and every certificate of the
//     control plane is made anew by it;
//  3. kubelets get theirs from it, if they had them from the old one;
//  4. the old one goes, and everybody is started anew, trusting the new one.
//
// It runs on every host that takes part. The control-plane host on which it is begun
// leads; the others follow, one control-plane host after the other, then all workers. What is
// done is seen by files, by when programs were started and by a record, so a
// replacement that was interrupted anywhere goes on when it is run again.
type Replacement struct {
	Machine   host.Machine
	Authority Authority
	Units     []string // of airgap's own, that ask the API server and read its authority when they are started
	Pods      PodsPolicy
	Follow    bool // never lead
	// Others has the other hosts follow, until they are done or the context ends; nil
	// when somebody runs the command there.
	Others func(ctx context.Context) error
	Say    func(format string, args ...any)

	connect func(kubeconfig string) (kubernetes.Interface, error) // nil is Machine.Client
}

// Replaced is what a replacement did.
type Replaced struct {
	Authority string   `json:"authority"`
	Files     []string `json:"files"`            // of this host, with certificates of the new authority
	Resumed   bool     `json:"resumed"`          // it had been interrupted
	Leader    string   `json:"leader,omitempty"` // the host that this one followed
	Trusting  []string `json:"trusting"`         // workloads whose pods trust the old one until they are started anew, as "deployment/NAME -n NAMESPACE"
}

// ErrNobodyLeads is of a host that is to follow.
var ErrNobodyLeads = errors.New("nobody leads one")

// replacementName is the Secret by which the hosts agree.
const replacementName = "airgap-authority"

// phaseNote is an annotation of each Node: to which authority its host goes, and
// which phase it has reached.
const phaseNote = "airgap.dev/authority"

// Run runs the replacement to its end.
func (r Replacement) Run(ctx context.Context) (Replaced, error) {
	waiting := func() { r.Say("waits for kubeadm, which an interrupted run left at work") }
	if err := node.Await(ctx, r.Machine, waiting); err != nil {
		return Replaced{}, err
	}
	node, err := node.Name(r.Machine)
	if err != nil {
		return Replaced{}, err
	}
	record, err := loadSuccession(r.Machine)
	if err != nil {
		return Replaced{}, err
	}
	if record.Authority != "" && record.Authority != r.Authority.Name {
		return Replaced{}, RefuseAmidReplacement(r.Machine, "replace the authority of "+r.Authority.Name)
	}
	p := &participant{Replacement: r, node: node, done: Replaced{Authority: r.Authority.Name, Resumed: record.Authority != ""}}
	if p.done.Resumed {
		r.Say("the replacement that was interrupted goes on")
	}
	m, err := p.read(ctx)
	if err != nil {
		return p.done, err
	}
	switch {
	case m != nil && string(m.Data[authorityField]) != r.Authority.Name:
		return p.done, &host.Failure{What: "replace the authority of " + r.Authority.Name, Err: fmt.Errorf("%s leads the replacement of another one, of %s", m.Leader, m.Data[authorityField]), Next: "end that first: airgap certs rotate-ca --only " + string(m.Data[authorityField])}
	case m == nil && record.Reached == only:
		return p.ended(p.end()) // only its end was missing
	case m != nil && m.Leader != node:
		return p.follow(ctx, m.Leader)
	case r.Follow || !p.controlPlane():
		return p.done, &host.Failure{What: "follow the replacement of the authority of " + r.Authority.Name, Err: ErrNobodyLeads, Next: "airgap certs rotate-ca on a control-plane host begins it"}
	}
	return p.lead(ctx, m)
}

// participant is a replacement on one of the hosts.
type participant struct {
	Replacement

	node string
	done Replaced
}

func (p *participant) ended(err error) (Replaced, error) { return p.done, err }

// The fields of the Secret besides those of every exchange.
const (
	authorityField = "authority" // its name
	oldField       = "old.crt"
	freshField     = "new.crt"
	trustedField   = "trusted" // when pods that were started could read both, RFC 3339
)

func (p *participant) controlPlane() bool { return p.Machine.Recorded(node.ManifestOf(node.APIServer)) }

// client asks as an administrator where it can, and reads the file anew: its
// certificates change on the way.
func (p *participant) client() (kubernetes.Interface, error) {
	if p.controlPlane() {
		return p.as(kube.AdminConf)
	}
	return p.as(kube.KubeletConf)
}

func (p *participant) as(kubeconfig string) (kubernetes.Interface, error) {
	if p.connect != nil {
		return p.connect(kubeconfig)
	}
	return kube.Client(p.Machine, kubeconfig)
}

func (p *participant) exchange() (exchange.Exchange, error) {
	client, err := p.client()
	return exchange.Exchange{Client: client, Node: p.node, Name: replacementName}, err
}

// read is patient: API servers are restarted on the way, and one that has just been
// started says no to everybody for a moment. A no that stays is one to a kubelet, which
// may read the minutes while there are some: nil, since nothing is under way.
func (p *participant) read(ctx context.Context) (m *exchange.Minutes, err error) {
	var refused time.Time
	err = await.Until(ctx, comeBack, func(ctx context.Context) error {
		x, err := p.exchange()
		if err == nil {
			m, err = x.Read(ctx)
		}
		switch {
		case !apierrors.IsForbidden(err):
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		case time.Since(refused) > 20*await.Beat(ctx):
			return nil
		}
		return err
	})
	return m, err
}

// succession is this host's part, between the two authorities of the minutes.
func (p *participant) succession(m *exchange.Minutes, key []byte) succession {
	return succession{
		Machine: p.Machine, authority: p.Authority, node: p.node, units: p.Units, say: p.Say,
		old: m.Data[oldField], fresh: m.Data[freshField], key: key,
		client: func() (kubernetes.Interface, error) { return p.as(kube.KubeletConf) },
	}
}

// note tells the others, with the kubelet's own identity, how far this host is.
func (p *participant) note(ctx context.Context, to string, reached exchange.Phase) error {
	return await.Until(ctx, comeBack, func(ctx context.Context) error {
		client, err := p.as(kube.KubeletConf)
		if err != nil {
			return err
		}
		return noteNode(ctx, client, p.node, noteOf(to, reached))
	})
}

func noteOf(to string, reached exchange.Phase) string { return to + "/" + string(reached) }

// end forgets the replacement on this host.
func (p *participant) end() error {
	files, err := signedFiles(p.Machine, p.Authority)
	if err != nil {
		return err
	}
	p.done.Files = files
	if err := forgetNext(p.Machine, p.Authority); err != nil {
		return err
	}
	return host.Remove(p.Machine.Path(SuccessionFile))
}

// signedFiles are those of this host with a certificate of the authority.
func signedFiles(m host.Machine, a Authority) ([]string, error) {
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
		err = fmt.Errorf("still signed by another authority than that of %s: %v", a.Name, others)
	}
	files := []string{}
	for _, name := range names {
		if m.Recorded(name) {
			files = append(files, name)
		}
	}
	return files, err
}

// fingerprint tells authorities of the same name apart: SHA-256 of the certificate,
// the first eight bytes in hexadecimal.
func fingerprint(certificate []byte) string {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return fmt.Sprintf("%x", sum[:8])
}

// member is a host that takes part.
type member struct {
	name         string
	controlPlane bool
}

// members are the hosts that trust an authority, by their Nodes, and those of them
// that are not ready.
func members(ctx context.Context, client kubernetes.Interface, a Authority) (all []member, unready []string, err error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list the nodes: %w", err)
	}
	for _, n := range nodes.Items {
		_, controlPlane := n.Labels[kube.ControlPlaneLabel]
		if !a.Everywhere() && !controlPlane {
			continue
		}
		all = append(all, member{n.Name, controlPlane})
		if !kube.NodeReady(&n) {
			unready = append(unready, n.Name)
		}
	}
	return all, unready, nil
}
