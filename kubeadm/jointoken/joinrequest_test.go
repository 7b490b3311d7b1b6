package jointoken

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/porttest"
	"airgap.dev/airgap/kubeadm/kubetest"
)

// TestPresent checks codes at a real API server: revoked, expired and unknown codes are refused
// despite the server's cache.
func TestPresent(t *testing.T) {
	c := newJoinCluster(t)
	ctx := t.Context()
	code, ends, err := Issue(ctx, c.admin, c.material, "w1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(ends); left < TTL-time.Minute || left > TTL {
		t.Errorf("got a code that expires in %s, want %s", left, TTL)
	}
	other := c.code(t, "w2", nil)
	client, err := c.entry(t, "w1", code).present(ctx, code)
	if err != nil {
		t.Fatal(err)
	}
	if err := Revoke(ctx, client, other); !apierrors.IsForbidden(err) {
		t.Errorf("revoke another code: got %v, want forbidden", err)
	}
	if err := Revoke(ctx, client, code); err != nil {
		t.Fatal(err)
	}
	expired := c.code(t, "w3", nil)
	c.expire(t, expired)
	for state, code := range map[string]JoinToken{"revoked": code, "expired": expired, "unknown": newCode(code.pin, false)} {
		_, err := c.entry(t, "w1", code).present(ctx, code)
		if f, is := errors.AsType[*host.Failure](err); !is || !strings.Contains(err.Error(), "used already") || !strings.Contains(f.Hint(), "--new-token") {
			t.Errorf("%s code: got %v, want an error with a hint", state, err)
		}
	}
	if _, err := c.entry(t, "w2", other).present(ctx, other); err != nil {
		t.Errorf("another code: got %v, want no error", err)
	}
	if _, _, err := Issue(ctx, c.admin, c.material, "", nil); err == nil {
		t.Error("IssueCode without a node: got no error, want one")
	}
}

func TestPresentWithoutAServer(t *testing.T) {
	e := JoinRequest{Material: JoinMaterial{APIServer: "127.0.0.1:" + porttest.Reserve(t), CA: kubetest.NewAPI(t).CA()}}
	_, err := e.present(t.Context(), newCode("", false))
	if err == nil || !strings.Contains(err.Error(), "reach the API server") {
		t.Errorf("got %v", err)
	}
}

func TestParcel(t *testing.T) {
	code := newCode(pinOf([]byte("key")), true)
	sealed, err := ControlPlaneSecrets{"/etc/airgap/pki/ca.key": []byte("registry")}.Sealed(code)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(sealed), "registry") || strings.Contains(string(sealed), "pki") {
		t.Error("the sealed parcel contains plain text")
	}
	if opened, err := openSecrets(code, sealed); err != nil || string(opened["/etc/airgap/pki/ca.key"]) != "registry" {
		t.Errorf("got %v, %v, want the keys", opened, err)
	}
	for state, damaged := range map[string][]byte{"changed": append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1), "cut": sealed[:20], "empty": nil} {
		if _, err := openSecrets(code, damaged); err == nil {
			t.Errorf("%s parcel: got no error, want one", state)
		}
	}
	another := code
	another.ID = "zzzzzz"
	if _, err := openSecrets(another, sealed); err == nil {
		t.Error("parcel of another code: got no error, want one")
	}
}
