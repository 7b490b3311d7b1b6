package kubeadm

import (
	"errors"
	"maps"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/apitest"
)

// TestTicket takes codes through a real API server: the one that is theirs is
// all they open, and once burnt they open nothing.
func TestTicket(t *testing.T) {
	server := apitest.Start(t)
	admin := server.Client(t)
	ca, err := os.ReadFile(server.Config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	material := JoinMaterial{APIServer: u.Host, CA: string(ca)}
	ctx := t.Context()

	keys := Parcel{"/etc/kubernetes/pki/ca.key": []byte("PLANTED")}
	first, ends := issue(t, admin, keys)
	worker, _ := issue(t, admin, nil)
	if left := time.Until(ends); left < CodeTTL-time.Minute || left > CodeTTL {
		t.Errorf("the code ends in %s", left)
	}

	ticket, err := Present(ctx, material, first)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ticket.Parcel(ctx); err != nil || !maps.EqualFunc(got, keys, func(a, b []byte) bool { return string(a) == string(b) }) {
		t.Errorf("the parcel: %v, %v", got, err)
	}
	wrong := first
	wrong.seal = strings.Repeat("a", 26)
	if got, err := (&Ticket{wrong, ticket.client}).Parcel(ctx); err == nil {
		t.Errorf("a wrong seal opened the parcel: %v", got)
	}

	workers, err := Present(ctx, material, worker)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workers.Parcel(ctx); err == nil || !strings.Contains(err.Error(), "worker") {
		t.Errorf("a worker's code asked for keys: %v", err)
	}
	secrets := workers.client.CoreV1().Secrets(metav1.NamespaceSystem)
	for _, name := range []string{parcelName(first), tokenName(first), tokenName(worker)} {
		if _, err := secrets.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a worker's code reads Secret %s: %v", name, err)
		}
	}
	if err := Revoke(ctx, workers.client, first); !apierrors.IsForbidden(err) {
		t.Errorf("a code burnt another one: %v", err)
	}

	if err := workers.burn(ctx); err != nil {
		t.Fatal(err)
	}
	if err := refused(Present(ctx, material, worker)); err != nil { // at once, whatever the API server remembers
		t.Errorf("a code was accepted twice: %v", err)
	}
	never := newCode(false)
	if err := refused(Present(ctx, material, never)); err != nil {
		t.Error(err)
	}
	if _, err := Present(ctx, material, first); err != nil {
		t.Errorf("the other code: %v", err)
	}

	late, _ := issue(t, admin, keys)
	token, err := admin.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, tokenName(late), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token.Data["expiration"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
	if _, err := admin.CoreV1().Secrets(metav1.NamespaceSystem).Update(ctx, token, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := refused(Present(ctx, material, late)); err != nil {
		t.Errorf("a code whose time was over: %v", err)
	}
}

func issue(t *testing.T, admin kubernetes.Interface, keys Parcel) (Code, time.Time) {
	t.Helper()
	code, ends, err := IssueCode(t.Context(), admin, "cp2", keys)
	if err != nil {
		t.Fatal(err)
	}
	return code, ends
}

// refused wants the error of a used code, with what to do.
func refused(_ *Ticket, err error) error {
	var f *Failure
	if !errors.As(err, &f) || !strings.Contains(err.Error(), "used already") || !strings.Contains(f.Hint(), "--new-code") {
		return errors.Join(errors.New("want a refusal with a hint"), err)
	}
	return nil
}

func TestParcel(t *testing.T) {
	f, m := newFake(t)
	for _, name := range controlPlaneKeys() {
		f.put(t, name, "content of "+name)
	}
	f.put(t, "/etc/airgap/pki/ca.key", "registry")
	f.put(t, EncryptionFile, "key2")
	packed, err := Pack(m, "/etc/airgap/pki/ca.key", EncryptionFile)
	if err != nil {
		t.Fatal(err)
	}
	code := newCode(true)
	sealed, err := packed.sealed(code)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(sealed), "registry") || strings.Contains(string(sealed), "pki") {
		t.Error("the parcel can be read")
	}
	opened, err := openParcel(code, sealed)
	if err != nil {
		t.Fatal(err)
	}

	to, other := newFake(t)
	to.put(t, EncryptionFile, "key1, of a join before the key was changed")
	shared := []string{EncryptionFile}
	if err := other.takeOver(opened, shared); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(controlPlaneKeys(), shared...) {
		info, err := os.Stat(other.path(name))
		if err != nil || to.get(name) != f.get(name) || info.Mode().Perm() != modeOf(name) {
			t.Errorf("%s: %v %q, %v", name, info.Mode(), to.get(name), err)
		}
	}
	if modeOf("/etc/kubernetes/pki/ca.key") != 0o600 || modeOf("/etc/kubernetes/pki/sa.pub") != 0o644 {
		t.Error("modes of keys and certificates")
	}
	if to.has("/etc/airgap/pki/ca.key") {
		t.Error("a file was written that is not the control plane's")
	}

	delete(opened, ClusterCA)
	if err := other.takeOver(opened, nil); err == nil || !strings.Contains(err.Error(), ClusterCA) {
		t.Errorf("a parcel without the CA: %v", err)
	}
	for what, damaged := range map[string][]byte{"changed": append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1), "cut": sealed[:20], "empty": nil} {
		if _, err := openParcel(code, damaged); err == nil {
			t.Errorf("a %s parcel was opened", what)
		}
	}
	another := code
	another.id = "zzzzzz"
	if _, err := openParcel(another, sealed); err == nil {
		t.Error("another code's parcel was opened")
	}
}
