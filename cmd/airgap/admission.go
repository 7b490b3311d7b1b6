package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm"
)

// admit gets the ticket before anything on the host is changed, unless kubeadm has
// joined already: then a code is asked for only if a step turns out to need one.
func (a *app) admit(ctx context.Context, s *site.Site, h *join.Hub, file string) (*join.Admission, error) {
	adm := &join.Admission{Entry: kubeadm.Entry{
		Machine: s.Machine, Node: s.KubeNode(), Material: h.Material,
		Code: func(ctx context.Context) (kubeadm.Code, error) { return a.readCode(ctx, file) },
	}}
	joined, err := s.Machine.Joined()
	if err != nil {
		return adm, err
	}
	if joined { // an earlier run may have been killed at its very end
		return adm, s.Machine.ForgetEntry()
	}
	ticket, err := adm.Ticket(ctx)
	if err == nil && s.Node.Has(config.ControlPlane) {
		_, err = ticket.Parcel(ctx)
	}
	return adm, err
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
