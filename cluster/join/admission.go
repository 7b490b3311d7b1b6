package join

import (
	"context"
	"errors"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry/trust"
)

// Admission lets a host into the cluster: it gets a validated token at the first use,
// once.
type Admission struct {
	Entry jointoken.JoinRequest
	shown *jointoken.ValidatedToken
}

// NoAdmission is the admission of a host that has joined: its steps need no code.
func NoAdmission(s *site.Site) *Admission {
	return &Admission{Entry: jointoken.JoinRequest{Machine: s.Machine.Machine, Node: s.Node.Name, ControlPlane: s.Node.Has(config.ControlPlane), Code: func(context.Context) (jointoken.JoinToken, error) {
		return jointoken.JoinToken{}, advice.Add(errors.New("this host needs a join token: it has left the cluster"), "run airgap join here; airgap join --new-token on a control-plane host creates a token")
	}}}
}

// ValidatedToken sends the join token on the first call, and returns the same result afterwards.
func (a *Admission) ValidatedToken(ctx context.Context) (*jointoken.ValidatedToken, error) {
	if a.shown != nil {
		return a.shown, nil
	}
	var err error
	a.shown, err = a.Entry.RequestCertificate(ctx)
	return a.shown, err
}

// authorityKey is the key of the registry's authority.
func (a *Admission) authorityKey(ctx context.Context) ([]byte, error) {
	return a.shared(ctx, trust.PKI{Dir: site.PKIDir}.CAKeyFile())
}

// encryptionKeys is the file of the keys that Secrets are encrypted with.
func (a *Admission) encryptionKeys(ctx context.Context) ([]byte, error) {
	return a.shared(ctx, encryption.EncryptionFile)
}

// shared returns a file from the secrets for control-plane hosts.
func (a *Admission) shared(ctx context.Context, name string) ([]byte, error) {
	token, err := a.ValidatedToken(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := token.ControlPlaneSecrets(ctx)
	if err != nil {
		return nil, err
	}
	return keys[name], nil
}
