package kubeadm

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/manifests"
)

// phase is how the keys of all control-plane hosts are to stand.
type phase string

const (
	added    phase = "added"    // the old key, then the new one
	promoted phase = "promoted" // the new one, then the old one
	alone    phase = "alone"    // the new one
)

// exchange is how the control-plane hosts of a cluster agree in a rotation: by
// a Secret, which the leader makes and deletes. Each other host puts the public
// half of a key there, made for this once and never written down, and gets the
// new key sealed with it. The sealed key may be read by who reads etcd.
type exchange struct {
	client kubernetes.Interface
	node   string
}

const exchangeName = "airgap-rotation"

// minutes is what stands in the Secret.
type minutes struct {
	leader, to string
	phase      phase
	data       map[string][]byte
}

// read is nil when no rotation is under way.
func (x exchange) read(ctx context.Context) (*minutes, error) {
	s, err := x.client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, exchangeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the rotation is: %w", err)
	}
	return &minutes{string(s.Data["leader"]), string(s.Data["to"]), phase(s.Data["phase"]), s.Data}, nil
}

// open makes this host the leader, unless another one is; it returns who is.
func (x exchange) open(ctx context.Context, to string) (leader string, err error) {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: exchangeName},
		Data:       map[string][]byte{"leader": []byte(x.node), "to": []byte(to)},
	}
	_, err = x.client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, s, metav1.CreateOptions{FieldManager: manifests.FieldManager})
	if err == nil {
		return x.node, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("tell the other hosts of the rotation: %w", err)
	}
	m, err := x.read(ctx)
	if m == nil {
		return x.node, err
	}
	return m.leader, err
}

func (x exchange) close(ctx context.Context) error {
	err := x.client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, exchangeName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("tell the other hosts of the rotation's end: %w", err)
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
	_, err = x.client.CoreV1().Secrets(metav1.NamespaceSystem).Patch(ctx, exchangeName, types.MergePatchType, text, metav1.PatchOptions{FieldManager: manifests.FieldManager})
	return err
}

// The algorithms are FIPS-approved ones, as for what is sealed.
func sealing() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.DHKEM(ecdh.P256()), hpke.HKDFSHA256(), hpke.AES256GCM()
}

// offer says what is to be done, and seals the new key for every host that has
// asked for it.
func (x exchange) offer(ctx context.Context, hosts []string, p phase, k key) error {
	m, err := x.read(ctx)
	if err != nil || m == nil {
		return err
	}
	news := map[string][]byte{}
	if m.phase != p {
		news["phase"] = []byte(p)
	}
	for _, host := range hosts {
		public := m.data["public."+host]
		if public == nil || bytes.Equal(public, m.data["for."+host]) {
			continue
		}
		sealed, err := k.sealed(public)
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

func (k key) sealed(public []byte) ([]byte, error) {
	kem, kdf, aead := sealing()
	to, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal([]string{k.provider, k.name, k.secret})
	if err != nil {
		return nil, err
	}
	return hpke.Seal(to, kdf, aead, []byte(exchangeName), text)
}

// take opens the key that was sealed for this host; false while none was.
func (x exchange) take(m *minutes, private hpke.PrivateKey) (key, bool, error) {
	if !bytes.Equal(m.data["for."+x.node], private.PublicKey().Bytes()) {
		return key{}, false, nil
	}
	_, kdf, aead := sealing()
	text, err := hpke.Open(private, kdf, aead, []byte(exchangeName), m.data["key."+x.node])
	if err != nil {
		return key{}, false, fmt.Errorf("open the new key: %w", err)
	}
	var parts []string
	if json.Unmarshal(text, &parts) != nil || len(parts) != 3 || parts[1] != m.to {
		return key{}, false, fmt.Errorf("open the new key: it is not %s", m.to)
	}
	return key{parts[0], parts[1], parts[2]}, true, nil
}
