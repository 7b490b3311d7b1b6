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
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/phases"
	"airgap.dev/airgap/kubeadm/runtime"
)

// The phases of a rotation, in their order.
const (
	both    phases.Phase = "both"    // all programs trust the old and the new CA
	signing phases.Phase = "signing" // the new CA signs, and has signed the control plane's certificates
	issued  phases.Phase = "issued"  // kubelets have certificates of the new CA
	only    phases.Phase = "only"    // no program trusts the old CA
)

func (a CA) phases() []phases.Phase {
	if a.nodes {
		return []phases.Phase{both, signing, issued, only}
	}
	return []phases.Phase{both, signing, only}
}

// hostRotation is a rotation on one host. Each phase is idempotent: the files, the start times of
// programs and the record show the completed work.
type hostRotation struct {
	host.Machine

	authority  CA
	node       string
	old, fresh []byte // certificates of both CAs, PEM
	key        []byte // key of fresh; nil on a host that signs nothing
	units      []string
	client     func() (kubernetes.Interface, error) // with the kubelet's identity
	say        func(format string, args ...any)
}

// RotationFile has the progress of the rotation on this host. It has no secret.
const RotationFile = host.StateDir + "/authority.json"

type rotationRecord struct {
	Authority string       `json:"authority,omitempty"`
	To        string       `json:"to,omitempty"` // fingerprint of the new CA
	Reached   phases.Phase `json:"reached,omitempty"`
	Manifest  host.Kept    `json:"manifest,omitzero"` // the original manifest of the controller manager
}

func loadRotation(m host.Machine) (rotationRecord, error) {
	return host.ReadJSON[rotationRecord](m.Path(RotationFile))
}

// reach moves the host to a phase. The host must have reached the previous phase.
func (s hostRotation) reach(ctx context.Context, p phases.Phase) error {
	record, err := loadRotation(s.Machine)
	to := fingerprint(s.fresh)
	if err != nil || record.To == to && record.reached(s.authority, p) {
		return err
	}
	record.Authority, record.To = s.authority.Name, to
	if err := host.WriteJSON(s.Path(RotationFile), record); err != nil {
		return err
	}
	switch p {
	case both:
		s.say("trust both CAs")
		err = s.trust(ctx, slices.Concat(s.old, s.fresh))
	case signing:
		err = s.sign(ctx)
	case issued:
		err = s.issue(ctx)
	case only:
		s.say("remove the old CA")
		err = s.trust(ctx, s.fresh)
	}
	if err != nil {
		return err
	}
	if record, err = loadRotation(s.Machine); err != nil {
		return err
	}
	record.Reached = p
	return host.WriteJSON(s.Path(RotationFile), record)
}

func (r rotationRecord) reached(a CA, p phases.Phase) bool {
	all := a.phases()
	return r.Authority == a.Name && slices.Index(all, r.Reached) >= slices.Index(all, p)
}

func (s hostRotation) controlPlane() bool { return s.Recorded(node.ManifestOf(node.APIServer)) }

// trust makes the programs of this host trust the CAs in text. It restarts those that have started
// before the file changed.
func (s hostRotation) trust(ctx context.Context, text []byte) error {
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

// write writes text to the CA file and the kubeconfigs. The file's modification time shows later
// which programs have started before the change.
func (s hostRotation) write(text []byte) error {
	k, err := s.Keep(s.authority.file)
	if err == nil && !bytes.Equal(k.Data, text) {
		err = host.WriteFile(s.Path(s.authority.file), text, k.Mode)
	}
	if err != nil || !s.authority.nodes {
		return err
	}
	return embed(s.Machine, text, s.old, s.fresh)
}

func (s hostRotation) restart(ctx context.Context) error {
	info, err := os.Stat(s.Path(s.authority.file))
	if err != nil {
		return err
	}
	for _, part := range s.authority.trusts {
		_, err := node.RestartOlder(ctx, s.Machine, part, s.node, info.ModTime(), s.say)
		if err == nil {
			err = await.Until(ctx, readyTime, func(ctx context.Context) error { return s.trusting(ctx, part, info.ModTime()) })
		}
		if err != nil {
			return stuck(string(part)+" trusts the CAs in "+s.authority.file, err)
		}
	}
	return s.settle(ctx)
}

// trusting returns nil if a program has started after the time and is ready.
func (s hostRotation) trusting(ctx context.Context, part node.Part, after time.Time) error {
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

// settle waits for programs that exited because the API server restarted.
func (s hostRotation) settle(ctx context.Context) error {
	for _, part := range []node.Part{node.ControllerManager, node.Scheduler} {
		err := await.Until(ctx, readyTime, func(ctx context.Context) error { return node.StaticPodReady(ctx, s.Machine, part, s.node, time.Time{}) })
		if err != nil {
			return stuck(string(part)+" is ready again", err)
		}
	}
	return nil
}

// restartKubelet returns when the kubelet has renewed its lease: then the kubelet and the API
// server trust each other.
func (s hostRotation) restartKubelet(ctx context.Context) error {
	s.say("restart the kubelet; pods keep running")
	at := time.Now()
	if err := s.Run(ctx, "systemctl", "restart", "kubelet"); err != nil {
		return runtime.Explain(ctx, s.Machine, host.Failure{What: "restart the kubelet", Err: err, Unit: "kubelet"})
	}
	renewed := func(ctx context.Context) error { return s.leaseRenewed(ctx, at) }
	if err := node.AwaitNode(ctx, s.Machine, readyTime, renewed); err != nil {
		return stuck("the kubelet trusts the CAs in "+s.authority.file, err)
	}
	for _, unit := range s.units {
		if err := s.Run(ctx, "systemctl", "try-restart", unit); err != nil {
			return runtime.Explain(ctx, s.Machine, host.Failure{What: "restart " + unit, Err: err, Unit: unit})
		}
	}
	return nil
}

// leaseRenewed returns nil if the kubelet has renewed its lease after the time.
func (s hostRotation) leaseRenewed(ctx context.Context, after time.Time) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	lease, err := client.CoordinationV1().Leases("kube-node-lease").Get(ctx, s.node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the kubelet's lease: %w", err)
	}
	if lease.Spec.RenewTime == nil || !lease.Spec.RenewTime.After(after) {
		return errors.New("the kubelet has not renewed its lease since its restart")
	}
	return nil
}

// sign installs the key of the new CA and renews every certificate of the control plane that the
// new CA has not signed. kubeadm signs with the first certificate of the file. A worker signs
// nothing.
func (s hostRotation) sign(ctx context.Context) error {
	if !s.controlPlane() {
		return nil
	}
	s.say("sign with the new CA")
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
		err = &host.Failure{What: "rotate the CA of " + s.authority.Name, Err: errors.New("still signed by the old CA: " + strings.Join(others, ", ")), Next: "run the same command again; all programs trust the old CA until then"}
	}
	return err
}

// renew re-creates every certificate that the new CA has not signed. It then writes both CAs into
// the kubeconfigs, because kubeadm writes only the first one.
func (s hostRotation) renew(ctx context.Context, trusted []byte) error {
	if other := s.authority.other; other != nil {
		return other.Sign(ctx)
	}
	left := func() ([]string, error) { return unsigned(s.Machine, s.authority.leaves, s.fresh) }
	renewal := Renewal{Machine: s.Machine, Say: s.say}
	if s.authority.nodes {
		renewal.AfterKubeadm = func() error { return embed(s.Machine, trusted, s.old, s.fresh) }
	}
	done, err := renewal.Run(ctx, left)
	if err == nil && done.Resumed { // the interrupted renewal may have had another reason
		_, err = renewal.Run(ctx, left)
	}
	return err
}

// RefuseDuringCARotation returns an error if a CA rotation is in progress on this host. The
// argument what names the refused operation, which would copy a CA that is about to change.
func RefuseDuringCARotation(m host.Machine, what string) error {
	record, err := loadRotation(m)
	if err != nil || record.Authority == "" {
		return err
	}
	name := record.Authority
	return &host.Failure{What: what, Err: fmt.Errorf("a rotation of the CA of %s is in progress", name), Next: "complete it first on the control-plane host that started it: airgap certs rotate-ca --only " + name}
}
