package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
)

// admission is what lets a host into the cluster: its ticket, which it gets when that
// is first needed, once.
type admission struct {
	entry kubeadm.Entry
	shown *kubeadm.Ticket
}

// admit gets the ticket before anything on the host is changed, unless kubeadm has
// joined already: then a code is asked for only if a step turns out to need one.
func (a *app) admit(ctx context.Context, s *site, h *hub, file string) (*admission, error) {
	adm := &admission{entry: kubeadm.Entry{
		Machine: s.machine, Node: s.kubeNode(), Material: h.material,
		Code: func(ctx context.Context) (kubeadm.Code, error) { return a.readCode(ctx, file) },
	}}
	joined, err := s.machine.Joined()
	if err != nil {
		return adm, err
	}
	if joined { // an earlier run may have been killed at its very end
		return adm, s.machine.ForgetEntry()
	}
	ticket, err := adm.ticket(ctx)
	if err == nil && s.node.Has(config.ControlPlane) {
		_, err = ticket.Parcel(ctx)
	}
	return adm, err
}

func (a *admission) ticket(ctx context.Context) (*kubeadm.Ticket, error) {
	if a.shown != nil {
		return a.shown, nil
	}
	var err error
	a.shown, err = a.entry.Admit(ctx)
	return a.shown, err
}

// authorityKey is the key of the registry's authority.
func (a *admission) authorityKey(ctx context.Context) ([]byte, error) {
	return a.shared(ctx, registry.PKI{Dir: pkiDir}.CAKeyFile())
}

// encryptionKeys is the file of the keys that Secrets are encrypted with.
func (a *admission) encryptionKeys(ctx context.Context) ([]byte, error) {
	return a.shared(ctx, kubeadm.EncryptionFile)
}

// shared is a file out of the parcel for control-plane hosts.
func (a *admission) shared(ctx context.Context, name string) ([]byte, error) {
	ticket, err := a.ticket(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := ticket.Parcel(ctx)
	if err != nil {
		return nil, err
	}
	return keys[name], nil
}

// readCode takes the code from the file, the terminal or stdin.
func (a *app) readCode(ctx context.Context, file string) (kubeadm.Code, error) {
	text, err := a.readSecret(ctx, file, "One-time code (not shown): ")
	if errors.Is(err, io.EOF) {
		return kubeadm.Code{}, advice.Add(errors.New("read the one-time code: standard input is empty"), "pipe it in, or name its file with --code-file")
	}
	if err != nil {
		return kubeadm.Code{}, fmt.Errorf("read the one-time code: %w", err)
	}
	code, err := kubeadm.ParseCode(text)
	return code, advice.Add(err, "airgap join --new-code --node NAME on a control-plane host makes a fresh one")
}

// readSecret takes it from the file, or asks.
func (a *app) readSecret(ctx context.Context, file, question string) (string, error) {
	if file == "" {
		return a.ask(ctx, question, true)
	}
	data, err := os.ReadFile(file)
	return string(data), err
}
