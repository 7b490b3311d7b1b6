package verify

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestSilenceFix: an API server whose certificate has ended, or that does not know who asks
// with one that has, wants another remedy than one that is down.
func TestSilenceFix(t *testing.T) {
	for name, tc := range map[string]struct {
		reason error
		want   string
	}{
		"its certificate has ended": {fmt.Errorf("list nodes: %w", x509.CertificateInvalidError{Reason: x509.Expired}), "airgap certs renew"},
		"ours has ended":            {apierrors.NewUnauthorized("Unauthorized"), "airgap certs renew"},
		"it is down":                {errors.New("connection refused"), "journalctl -u kubelet"},
	} {
		if got := silenceFix(tc.reason); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
