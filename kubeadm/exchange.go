package kubeadm

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/manifests"
)

// phase is how far all hosts are to be, in a rotation of the Secrets' key or in a
// replacement of an authority.
type phase string

// exchange is how the hosts of a cluster agree in something that all of them go
// through together: by a Secret, which the leader makes and deletes. A
// control-plane host that needs what nobody else may know puts the public half of
// a key there, made for this once and never written down, and gets it sealed with
// that. What is sealed may be read by who reads etcd.
type exchange struct {
	client kubernetes.Interface
	node   string
	name   string // of the Secret, in kube-system
}

// The fields of the Secret that both kinds have: who leads, to which key or
// authority, and in which phase all are: of keys the one they go to, of authorities
// the one they have been through.
const (
	leaderField = "leader"
	toField     = "to"
	phaseField  = "phase"
)

// minutes is what stands in the Secret.
type minutes struct {
	leader, to string
	data       map[string][]byte
}

// read is nil when nothing is under way.
func (x exchange) read(ctx context.Context) (*minutes, error) {
	s, err := x.client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, x.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read from the cluster what is under way: %w", err)
	}
	return &minutes{string(s.Data[leaderField]), string(s.Data[toField]), s.Data}, nil
}

// open makes this host the leader, unless another one is; it returns who is. More
// fields of the Secret are for all who may read it.
func (x exchange) open(ctx context.Context, to string, more map[string][]byte) (leader string, err error) {
	data := map[string][]byte{leaderField: []byte(x.node), toField: []byte(to)}
	maps.Copy(data, more)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: x.name}, Data: data}
	_, err = x.client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, s, byUs())
	if err == nil {
		return x.node, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("tell the other hosts what is under way: %w", err)
	}
	m, err := x.read(ctx)
	if m == nil {
		return x.node, err
	}
	return m.leader, err
}

func (x exchange) close(ctx context.Context) error {
	err := x.client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, x.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("tell the other hosts of the end: %w", err)
	}
	return nil
}

// patch changes some of the fields: each host its own, so nobody is in
// another's way.
func (x exchange) patch(ctx context.Context, data map[string][]byte) error {
	text, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = x.client.CoreV1().Secrets(metav1.NamespaceSystem).Patch(ctx, x.name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: manifests.FieldManager})
	return err
}

// The algorithms are FIPS-approved ones, as for what is sealed.
func sealing() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.DHKEM(ecdh.P256()), hpke.HKDFSHA256(), hpke.AES256GCM()
}

// ask makes a key for the exchange, whose public half asks for what is sealed.
func (x exchange) ask(ctx context.Context) (hpke.PrivateKey, error) {
	kem, _, _ := sealing()
	private, err := kem.GenerateKey()
	if err != nil {
		return nil, err
	}
	return private, x.patch(ctx, map[string][]byte{"public." + x.node: private.PublicKey().Bytes()})
}

// offer writes the fields that are not as they are, and seals the secret for every
// host that has asked for it.
func (x exchange) offer(ctx context.Context, hosts []string, fields map[string]string, secret []byte) error {
	m, err := x.read(ctx)
	if err != nil || m == nil {
		return err
	}
	news := map[string][]byte{}
	for name, value := range fields {
		if string(m.data[name]) != value {
			news[name] = []byte(value)
		}
	}
	for _, host := range hosts {
		public := m.data["public."+host]
		if public == nil || bytes.Equal(public, m.data["for."+host]) {
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
	return x.patch(ctx, news)
}

func (x exchange) sealed(public, secret []byte) ([]byte, error) {
	kem, kdf, aead := sealing()
	to, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	return hpke.Seal(to, kdf, aead, []byte(x.name), secret)
}

// take opens what was sealed for this host; nil while nothing was.
func (x exchange) take(m *minutes, private hpke.PrivateKey) ([]byte, error) {
	if !bytes.Equal(m.data["for."+x.node], private.PublicKey().Bytes()) {
		return nil, nil
	}
	_, kdf, aead := sealing()
	text, err := hpke.Open(private, kdf, aead, []byte(x.name), m.data["key."+x.node])
	if err != nil {
		return nil, fmt.Errorf("open the new key: %w", err)
	}
	return text, nil
}
