package joincode

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kubetest"
)

// TestPresent takes codes to a real API server: one that was burnt, ended or never was
// is refused, whatever the server remembers.
func TestPresent(t *testing.T) {
	c := newJoinCluster(t)
	ctx := t.Context()
	code, ends, err := IssueCode(ctx, c.admin, c.material, "w1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(ends); left < CodeTTL-time.Minute || left > CodeTTL {
		t.Errorf("the code ends in %s", left)
	}
	other := c.code(t, "w2", nil)
	client, err := c.entry(t, "w1", code).present(ctx, code)
	if err != nil {
		t.Fatal(err)
	}
	if err := Revoke(ctx, client, other); !apierrors.IsForbidden(err) {
		t.Errorf("a code burnt another one: %v", err)
	}
	if err := Revoke(ctx, client, code); err != nil {
		t.Fatal(err)
	}
	late := c.code(t, "w3", nil)
	c.expire(t, late)
	for what, code := range map[string]Code{"burnt": code, "late": late, "never made": newCode(code.pin, false)} {
		_, err := c.entry(t, "w1", code).present(ctx, code)
		if f, is := errors.AsType[*host.Failure](err); !is || !strings.Contains(err.Error(), "used already") || !strings.Contains(f.Hint(), "--new-code") {
			t.Errorf("a code that was %s: %v", what, err)
		}
	}
	if _, err := c.entry(t, "w2", other).present(ctx, other); err != nil {
		t.Errorf("the other code: %v", err)
	}
	if _, _, err := IssueCode(ctx, c.admin, c.material, "", nil); err == nil {
		t.Error("a code was made for any node")
	}
}

func TestPresentWithoutAServer(t *testing.T) {
	gone := kubetest.NewAPI(t)
	gone.Close()
	e := Entry{Material: JoinMaterial{APIServer: gone.Listener.Addr().String(), CA: gone.CA()}}
	_, err := e.present(t.Context(), newCode("", false))
	if err == nil || !strings.Contains(err.Error(), "reach the API server") {
		t.Errorf("got %v", err)
	}
}

func TestParcel(t *testing.T) {
	code := newCode(pinOf([]byte("key")), true)
	sealed, err := Parcel{"/etc/airgap/pki/ca.key": []byte("registry")}.Sealed(code)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(sealed), "registry") || strings.Contains(string(sealed), "pki") {
		t.Error("the parcel can be read")
	}
	if opened, err := openParcel(code, sealed); err != nil || string(opened["/etc/airgap/pki/ca.key"]) != "registry" {
		t.Errorf("opened %v, %v", opened, err)
	}
	for what, damaged := range map[string][]byte{"changed": append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1), "cut": sealed[:20], "empty": nil} {
		if _, err := openParcel(code, damaged); err == nil {
			t.Errorf("a %s parcel was opened", what)
		}
	}
	another := code
	another.ID = "zzzzzz"
	if _, err := openParcel(another, sealed); err == nil {
		t.Error("another code's parcel was opened")
	}
}
