package encryption

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/verify/apitest"
)

// TestRewriteSecrets rotates by hand on a real API server with a real etcd:
// the assumptions of the rotation hold there.
func TestRewriteSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	first := keyring{keyring{}.newKey(Secretbox)}
	both := keyring{first.newKey(AESCBC), first[0]}
	writeKeys(t, file, first)
	server := apitest.Start(t, "--encryption-provider-config="+file)
	asked := &etcd.Client{URL: server.Etcd()}
	secrets := server.Client(t).CoreV1().Secrets("default")
	names := make([]string, 33) // more than one answer of etcd's
	for i := range names {
		names[i] = "s" + strings.Repeat("x", i)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: names[i]}, Immutable: new(i == 0), StringData: map[string]string{"n": names[i]}}
		if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	wantOthers(t, asked, first[0], 0)
	wantOthers(t, asked, both[0], len(names))

	text := writeKeys(t, file, both)
	address := strings.TrimPrefix(server.Config.Host, "https://")
	if err := Loaded(t.Context(), server.Config, address, fileHash(text)); err == nil {
		t.Error("the server is reported to have loaded the key, and has not")
	}
	server.Stop()
	server.Restart(t)
	if err := Loaded(t.Context(), server.Config, address, fileHash(text)); err != nil {
		t.Error(err)
	}
	client, err := metadata.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second has nothing left to do, and says the same
		told := 0
		if n, err := RewriteSecrets(t.Context(), client, func(n int) { told = n }); err != nil || n != len(names) || told != n {
			t.Fatalf("rewrote %d, reported %d: %v", n, told, err)
		}
		wantOthers(t, asked, both[0], 0)
	}
	for _, name := range names {
		if s, err := secrets.Get(t.Context(), name, metav1.GetOptions{}); err != nil || string(s.Data["n"]) != name || len(s.ManagedFields) != 1 {
			t.Errorf("%s is %v now: %v", name, s, err)
		}
	}
}

func writeKeys(t *testing.T, file string, ring keyring) []byte {
	t.Helper()
	text, err := ring.file()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return text
}

func wantOthers(t *testing.T, asked *etcd.Client, k key, want int) {
	t.Helper()
	if n, err := asked.Others(t.Context(), "/registry/secrets/", k.prefix()); err != nil || n != want {
		t.Errorf("%d Secrets are not of %s (%v), want %d", n, k.name, err, want)
	}
}
