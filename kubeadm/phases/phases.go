// Package phases coordinates the control-plane hosts of a cluster during a rotation: all hosts
// complete a phase before the next one begins. Rotations are of the Secrets' key and of a CA.
//
// A Secret in kube-system has the leader and the phase of all hosts. Secret data goes to each host
// sealed (HPKE) with a key that the host creates for one use.
package phases

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// Phase is a phase of a rotation.
type Phase string

// Coordinator coordinates the hosts of a cluster during a rotation through a Secret, which
// the leader creates and deletes. A control-plane host that needs secret data puts a
// public key into it. The key is for one use and never stored. The host gets the data
// sealed for this key. Readers of etcd can read only sealed data.
type Coordinator struct {
	Client kubernetes.Interface
	Node   string
	Name   string // of the Secret, in kube-system
}

// Common fields of the Secret in both rotations: the leader, the new key or CA, and the phase
// of all hosts: for keys the next phase, for CAs the last completed one.
const (
	leaderField = "leader"
	toField     = "to"
	PhaseField  = "phase"
)

// State is the rotation state in the Secret.
type State struct {
	Leader, To string
	Data       map[string][]byte
}

// Read returns nil if no rotation is in progress.
func (x Coordinator) Read(ctx context.Context) (*State, error) {
	s, err := x.Client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, x.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rotation state from the cluster: %w", err)
	}
	return &State{string(s.Data[leaderField]), string(s.Data[toField]), s.Data}, nil
}

// Open makes this host the leader, unless another host is, and returns the leader. Every reader
// of the Secret can read the fields in more.
func (x Coordinator) Open(ctx context.Context, to string, more map[string][]byte) (leader string, err error) {
	data := map[string][]byte{leaderField: []byte(x.Node), toField: []byte(to)}
	maps.Copy(data, more)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: x.Name}, Data: data}
	_, err = x.Client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, s, kube.CreateOptions())
	if err == nil {
		return x.Node, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create the rotation state in the cluster: %w", err)
	}
	m, err := x.Read(ctx)
	if m == nil {
		return x.Node, err
	}
	return m.Leader, err
}

// Close deletes the Secret: the hosts are through.
func (x Coordinator) Close(ctx context.Context) error {
	err := x.Client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, x.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("tell the other hosts of the end: %w", err)
	}
	return nil
}

// Patch changes some fields. Each host changes only its own fields, so there are no
// conflicts.
func (x Coordinator) Patch(ctx context.Context, data map[string][]byte) error {
	text, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = x.Client.CoreV1().Secrets(metav1.NamespaceSystem).Patch(ctx, x.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: manifests.FieldManager})
	return err
}

// The algorithms are FIPS-approved, as for the sealed data.
func sealing() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.DHKEM(ecdh.P256()), hpke.HKDFSHA256(), hpke.AES256GCM()
}

// Ask creates a key for the exchange. Its public half requests the sealed data.
func (x Coordinator) Ask(ctx context.Context) (hpke.PrivateKey, error) {
	kem, _, _ := sealing()
	private, err := kem.GenerateKey()
	if err != nil {
		return nil, err
	}
	return private, x.Patch(ctx, map[string][]byte{"public." + x.Node: private.PublicKey().Bytes()})
}

// Offer writes the fields that are not as they are, and seals the secret for every
// host that has asked for it.
func (x Coordinator) Offer(ctx context.Context, hosts []string, fields map[string]string, secret []byte) error {
	m, err := x.Read(ctx)
	if err != nil || m == nil {
		return err
	}
	news := map[string][]byte{}
	for name, value := range fields {
		if string(m.Data[name]) != value {
			news[name] = []byte(value)
		}
	}
	for _, host := range hosts {
		public := m.Data["public."+host]
		if public == nil || bytes.Equal(public, m.Data["for."+host]) {
			continue
		}
		sealed, err := x.sealed(public, secret)
		if err != nil {
			return fmt.Errorf("seal the new key for %s: %w", host, err)
		}
		news["key."+host], news["for."+host] = sealed, public
	}
	if len(news) == 0 {
		return nil
	}
	return x.Patch(ctx, news)
}

func (x Coordinator) sealed(public, secret []byte) ([]byte, error) {
	kem, kdf, aead := sealing()
	to, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	return hpke.Seal(to, kdf, aead, []byte(x.Name), secret)
}

// Take opens the data sealed for this host; nil if there is none yet.
func (x Coordinator) Take(m *State, private hpke.PrivateKey) ([]byte, error) {
	if !bytes.Equal(m.Data["for."+x.Node], private.PublicKey().Bytes()) {
		return nil, nil
	}
	_, kdf, aead := sealing()
	text, err := hpke.Open(private, kdf, aead, []byte(x.Name), m.Data["key."+x.Node])
	if err != nil {
		return nil, fmt.Errorf("open the new key: %w", err)
	}
	return text, nil
}

// GatherTime is how long a leader waits for the other hosts.
const GatherTime = time.Hour

// Phase is the one that the hosts are in.
func (m *State) Phase() Phase { return Phase(m.Data[PhaseField]) }
