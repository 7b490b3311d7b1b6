package pki

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/exchange"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// The phases of a replacement, in their order.
const (
	both    exchange.Phase = "both"    // everybody trusts the old and the new authority
	signing exchange.Phase = "signing" // the new one signs, and has signed the control plane's certificates
	issued  exchange.Phase = "issued"  // kubelets have theirs from it
	only    exchange.Phase = "only"    // nobody trusts the old one
)

func (a Authority) phases() []exchange.Phase {
	if a.nodes {
		return []exchange.Phase{both, signing, issued, only}
	}
	return []exchange.Phase{both, signing, only}
}

// succession is a replacement on one host. Each phase can be reached again and
// again: what is done already is seen by the files, by when programs were started
// and by the record.
type succession struct {
	host.Machine

	authority  Authority
	node       string
	old, fresh []byte // certificates of both, PEM
	key        []byte // of fresh; nil on a host that signs nothing
	units      []string
	client     func() (kubernetes.Interface, error) // as the kubelet
	say        func(format string, args ...any)
}

// SuccessionFile says how far this host is, without a secret.
const SuccessionFile = host.StateDir + "/authority.json"

type successionRecord struct {
	Authority string         `json:"authority,omitempty"`
	To        string         `json:"to,omitempty"` // fingerprint of the new one
	Reached   exchange.Phase `json:"reached,omitempty"`
	Manifest  host.Kept      `json:"manifest,omitzero"` // of the controller manager, as it was
}

func loadSuccession(m host.Machine) (successionRecord, error) {
	return host.ReadJSON[successionRecord](m.Path(SuccessionFile))
}

// reach brings the host to a phase, which the one before it has to have been.
func (s succession) reach(ctx context.Context, p exchange.Phase) error {
	record, err := loadSuccession(s.Machine)
	to := fingerprint(s.fresh)
	if err != nil || record.To == to && record.reached(s.authority, p) {
		return err
	}
	record.Authority, record.To = s.authority.Name, to
	if err := host.WriteJSON(s.Path(SuccessionFile), record); err != nil {
		return err
	}
	switch p {
	case both:
		s.say("both authorities are trusted")
		err = s.trust(ctx, slices.Concat(s.old, s.fresh))
	case signing:
		err = s.sign(ctx)
	case issued:
		err = s.issue(ctx)
	case only:
		s.say("the old authority goes")
		err = s.trust(ctx, s.fresh)
	}
	if err != nil {
		return err
	}
	if record, err = loadSuccession(s.Machine); err != nil {
		return err
	}
	record.Reached = p
	return host.WriteJSON(s.Path(SuccessionFile), record)
}

func (r successionRecord) reached(a Authority, p exchange.Phase) bool {
	all := a.phases()
	return r.Authority == a.Name && slices.Index(all, r.Reached) >= slices.Index(all, p)
}

func (s succession) controlPlane() bool { return s.Recorded(node.ManifestOf(node.APIServer)) }

// trust has the programs of this host trust what text says: they are restarted
// unless they were started with it already.
func (s succession) trust(ctx context.Context, text []byte) error {
	if err := s.write(text); err != nil {
		return err
	}
	if other := s.authority.other; other != nil {
		return other.Trust(ctx)
	}
	if s.controlPlane() {
		if err := s.setSigner(text); err != nil {
			return err
		}
		if err := s.restart(ctx); err != nil {
			return err
		}
	}
	if s.authority.nodes {
		return s.restartKubelet(ctx)
	}
	return nil
}

// write puts authorities where they are read. The time of the file says later which
// programs were started before.
func (s succession) write(text []byte) error {
	k, err := s.Keep(s.authority.file)
	if err == nil && !bytes.Equal(k.Data, text) {
		err = host.WriteFile(s.Path(s.authority.file), text, k.Mode)
	}
	if err != nil || !s.authority.nodes {
		return err
	}
	return embed(s.Machine, text, s.old, s.fresh)
}

func (s succession) restart(ctx context.Context) error {
	info, err := os.Stat(s.Path(s.authority.file))
	if err != nil {
		return err
	}
	for _, part := range s.authority.trusts {
		_, err := node.RestartOlder(ctx, s.Machine, part, s.node, info.ModTime(), s.say)
		if err == nil {
			err = await.Until(ctx, comeBack, func(ctx context.Context) error { return s.trusting(ctx, part, info.ModTime()) })
		}
		if err != nil {
			return stuck(string(part)+" trusts the authorities in "+s.authority.file, err)
		}
	}
	return s.settle(ctx)
}

// trusting is nil when a program was started after the time and answers.
func (s succession) trusting(ctx context.Context, part node.Part, after time.Time) error {
	var err error
	switch part {
	case node.Etcd:
		err = etcdServesItsFiles(ctx, s.Machine)
	case node.ControllerManager:
		err = s.signerSet()
	}
	if err != nil {
		return err
	}
	return partReady(ctx, s.Machine, part, s.node, after)
}

// settle waits for those who lost the API server while it was restarted, and
// ended for that.
func (s succession) settle(ctx context.Context) error {
	for _, part := range []node.Part{node.ControllerManager, node.Scheduler} {
		err := await.Until(ctx, comeBack, func(ctx context.Context) error { return node.StaticPodReady(ctx, s.Machine, part, s.node, time.Time{}) })
		if err != nil {
			return stuck(string(part)+" is back", err)
		}
	}
	return nil
}

// restartKubelet returns when the kubelet has been heard of in the cluster: it
// trusts the API server, which knows it.
func (s succession) restartKubelet(ctx context.Context) error {
	s.say("the kubelet is restarted: pods run on")
	at := time.Now()
	if err := s.Run(ctx, "systemctl", "restart", "kubelet"); err != nil {
		return runtime.Explain(ctx, s.Machine, host.Failure{What: "restart the kubelet", Err: err, Unit: "kubelet"})
	}
	heard := func(ctx context.Context) error { return s.heard(ctx, at) }
	if err := node.AwaitNode(ctx, s.Machine, comeBack, heard); err != nil {
		return stuck("the kubelet trusts the authorities in "+s.authority.file, err)
	}
	for _, unit := range s.units {
		if err := s.Run(ctx, "systemctl", "try-restart", unit); err != nil {
			return runtime.Explain(ctx, s.Machine, host.Failure{What: "restart " + unit, Err: err, Unit: unit})
		}
	}
	return nil
}

// heard is nil when the kubelet has renewed its lease after the time.
func (s succession) heard(ctx context.Context, after time.Time) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	lease, err := client.CoordinationV1().Leases("kube-node-lease").Get(ctx, s.node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("ask whether the kubelet was heard of: %w", err)
	}
	if lease.Spec.RenewTime == nil || !lease.Spec.RenewTime.After(after) {
		return errors.New("the kubelet has not been heard of in the cluster since its restart")
	}
	return nil
}

// sign has the new authority sign, and every certificate of the control plane made
// anew that it has not signed. kubeadm signs by the first certificate of the file.
// A host without a control plane signs nothing.
func (s succession) sign(ctx context.Context) error {
	if !s.controlPlane() {
		return nil
	}
	s.say("the new authority signs")
	if err := host.WriteFile(s.Path(s.authority.key), s.key, 0o600); err != nil {
		return err
	}
	if s.authority.nodes {
		if err := s.writeSigner(s.fresh, s.key); err != nil {
			return err
		}
	}
	text := slices.Concat(s.fresh, s.old)
	if err := s.write(text); err != nil {
		return err
	}
	if err := s.renew(ctx, text); err != nil {
		return err
	}
	others, err := unsigned(s.Machine, s.authority.leaves, s.fresh)
	if err == nil && len(others) > 0 {
		err = &host.Failure{What: "replace the authority of " + s.authority.Name, Err: errors.New("still signed by the old one: " + strings.Join(others, ", ")), Next: "run the same command again; the old authority is trusted until then"}
	}
	return err
}

// renew has every certificate made anew that the new authority has not signed.
// Kubeconfigs trust the first certificate alone when kubeadm has made them.
func (s succession) renew(ctx context.Context, trusted []byte) error {
	if other := s.authority.other; other != nil {
		return other.Sign(ctx)
	}
	left := func() ([]string, error) { return unsigned(s.Machine, s.authority.leaves, s.fresh) }
	renewal := Renewal{Machine: s.Machine, Say: s.say}
	if s.authority.nodes {
		renewal.Amend = func() error { return embed(s.Machine, trusted, s.old, s.fresh) }
	}
	done, err := renewal.Run(ctx, left)
	if err == nil && done.Resumed { // it may have been begun for something else
		_, err = renewal.Run(ctx, left)
	}
	return err
}

// RefuseAmidReplacement is for what would bring an authority somewhere that goes,
// or meet one that has not come yet.
func RefuseAmidReplacement(m host.Machine, what string) error {
	record, err := loadSuccession(m)
	if err != nil || record.Authority == "" {
		return err
	}
	name := record.Authority
	return &host.Failure{What: what, Err: fmt.Errorf("the authority of %s is being replaced", name), Next: "airgap certs rotate-ca --only " + name + " ends that first, on the control-plane host where it was begun"}
}
