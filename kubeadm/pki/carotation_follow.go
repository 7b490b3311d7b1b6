package pki

import (
	"context"
	"crypto/hpke"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/phases"
)

// follow runs on this host each phase that the leader requests, until the end of the rotation.
func (p *rotationMember) follow(ctx context.Context, leader string) (CARotated, error) {
	p.done.Leader = leader
	p.Say("this host follows %s, which leads the rotation", leader)
	private, err := p.askForKey(ctx)
	if err != nil {
		return p.done, err
	}
	noted := phases.Phase("")
	for {
		m, err := p.read(ctx)
		if err != nil {
			return p.done, err
		}
		if m == nil || phases.Phase(m.Data[phases.PhaseField]) == only {
			return p.ended(p.endFollowing())
		}
		key, err := p.takeKey(m, private)
		if err != nil {
			return p.done, err
		}
		want := phases.Phase(m.Data[phaseOf(p.node)])
		if waits := want == signing && p.controlPlane() && key == nil; want != "" && want != noted && !waits {
			if err := p.hostRotation(m, key).reach(ctx, want); err != nil {
				return p.done, err
			}
			if err := p.note(ctx, m.To, want); err != nil {
				return p.done, err
			}
			noted = want
		}
		select {
		case <-ctx.Done():
			return p.done, ctx.Err()
		case <-time.After(await.Interval(ctx)):
		}
	}
}

// phaseOf returns the name of the field with the phase that the leader requests from a host.
func phaseOf(node string) string { return phases.PhaseField + "." + node }

// askForKey requests the key of the new CA, because control-plane hosts sign with it too.
func (p *rotationMember) askForKey(ctx context.Context) (private hpke.PrivateKey, err error) {
	if !p.controlPlane() || p.Machine.Recorded(p.Authority.nextKey()) {
		return nil, nil
	}
	err = await.Until(ctx, readyTime, func(ctx context.Context) error {
		x, err := p.exchange()
		if err != nil {
			return err
		}
		private, err = x.Ask(ctx)
		if apierrors.IsNotFound(err) { // the rotation has ended; the next read reports it
			return nil
		}
		return err
	})
	return private, err
}

// takeKey saves the new CA's key as soon as the leader has published it for this host.
func (p *rotationMember) takeKey(m *phases.State, private hpke.PrivateKey) ([]byte, error) {
	if !p.controlPlane() {
		return nil, nil
	}
	if p.Machine.Recorded(p.Authority.nextKey()) {
		return os.ReadFile(p.Machine.Path(p.Authority.nextKey()))
	}
	if private == nil {
		return nil, fmt.Errorf("%s no longer exists", p.Authority.nextKey())
	}
	key, err := phases.Coordinator{Node: p.node, Name: replacementName}.Take(m, private)
	if err != nil || key == nil {
		return nil, err
	}
	return key, errors.Join(writeNext(p.Machine, p.Authority.nextKey(), key), writeNext(p.Machine, p.Authority.nextFile(), m.Data[freshField]))
}

// endFollowing completes the rotation on this host. It returns an error if the rotation state
// was removed before the last phase.
func (p *rotationMember) endFollowing() error {
	record, err := loadRotation(p.Machine)
	if err != nil {
		return err
	}
	if record.Authority != "" && record.Reached != only {
		return &host.Failure{What: "follow the CA rotation", Err: errors.New("no host leads it"), Next: "run airgap certs rotate-ca --only " + p.Authority.Name + " on the control-plane host that led it"}
	}
	return p.end()
}

// noteNode sets the annotation of a Node; "" removes it.
func noteNode(ctx context.Context, client kubernetes.Interface, node, note string) error {
	value := "null"
	if note != "" {
		value = fmt.Sprintf("%q", note)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, phaseNote, value)
	if _, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("annotate node %s with %s: %w", node, phaseNote, err)
	}
	return nil
}
