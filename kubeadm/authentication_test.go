package kubeadm

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/verify/apitest"
)

// issuer is an OIDC provider that signs tokens for any user.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := issuer{key: key}
	answers := http.NewServeMux()
	answers.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	answers.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{
			"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": base64url(key.N.Bytes()), "e": base64url(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	i.Server = httptest.NewTLSServer(answers)
	t.Cleanup(i.Close)
	return i
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (i issuer) token(t *testing.T, email string) string {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64url(text)
	}
	signed := part(map[string]string{"alg": "RS256", "kid": "1"}) + "." + part(map[string]any{
		"iss": i.URL, "aud": "kubernetes", "sub": "1", "email": email, "exp": time.Now().Add(time.Hour).Unix(),
	})
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64url(signature)
}

// section is a configuration that trusts the issuer and extends the API server's lists.
func (i issuer) section(t *testing.T) Config {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	text, err := yaml.Marshal(object{"version": "1.36.3", "authentication": object{"jwt": []any{object{
		"issuer":        object{"url": i.URL, "audiences": []string{"kubernetes"}, "certificateAuthority": string(ca)},
		"claimMappings": object{"username": object{"claim": "email", "prefix": "sso:"}},
	}}}, "overrides": object{"clusterConfiguration": object{"apiServer": object{"extraArgs": []any{
		object{"name": "enable-admission-plugins", "value": "DenyServiceExternalIPs"}, object{"name": "event-ttl", "value": "2h"},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	c := section(t, string(text))
	if errs := c.Validate(field.NewPath("kubernetes")); len(errs) > 0 {
		t.Fatal(errs)
	}
	return c
}

// placed writes the API server's files to dir, and returns its arguments with these paths.
func placed(t *testing.T, c Config, dir string) []string {
	t.Helper()
	files, err := apiServerFiles(c)
	if err != nil {
		t.Fatal(err)
	}
	if files[encryption.EncryptionFile], err = encryption.FirstKeys(encryption.Secretbox); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	places := strings.NewReplacer(node.APIServerDir, dir, leave.AuditDir, dir)
	var args []string
	for _, a := range argumentsOf(cluster(c, Node{Name: "cp1", Address: "127.0.0.1"}), node.APIServer) {
		args = append(args, "--"+a.name+"="+places.Replace(a.value))
	}
	return args
}

// TestIssuerOnAnAPIServer starts a real API server with the merged arguments and files. It
// accepts the issuer's users and, without credentials, only the allowed paths.
func TestIssuerOnAnAPIServer(t *testing.T) {
	i := newIssuer(t)
	s := apitest.Start(t, placed(t, i.section(t), t.TempDir())...)

	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots(t, s.Config.CAFile)}}}
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/healthz": http.StatusOK,
		"/version": http.StatusUnauthorized, "/api": http.StatusUnauthorized, "/apis": http.StatusUnauthorized, "/metrics": http.StatusUnauthorized,
		"/api/v1/namespaces/kube-public/configmaps/cluster-info": http.StatusForbidden, // authenticated; kubeadm creates its Role later
		"/api/v1/namespaces/kube-system/secrets":                 http.StatusUnauthorized,
	} {
		answer, err := plain.Get(s.Config.Host + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s without credentials: got %d, want %d", path, answer.StatusCode, want)
		}
	}

	as := rest.CopyConfig(s.Config)
	as.BearerToken = i.token(t, "kim@bank.example")
	client, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	var user string
	for range 100 { // the API server reads the issuer's keys only after it is ready
		review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authentication.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil {
			user = review.Status.UserInfo.Username
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if user != "sso:kim@bank.example" {
		t.Errorf("got user %q, want sso:kim@bank.example", user)
	}
}

// TestBannedOnAnAPIServer shows with a real API server why anonymous-auth is banned.
func TestBannedOnAnAPIServer(t *testing.T) {
	c := section(t, "version: 1.36.3")
	c.Audit.Log, c.EncryptionAtRest = NoAudit, encryption.NoEncryption
	var args []string
	for _, a := range placed(t, c, t.TempDir()) {
		if !strings.HasPrefix(a, "--authentication-config=") {
			args = append(args, a)
		}
	}
	for value, want := range map[string]string{"true": "/version 200", "false": "/livez 401"} {
		s := apitest.Start(t, append([]string{"--anonymous-auth=" + value}, args...)...)
		path, _, _ := strings.Cut(want, " ")
		plain := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots(t, s.Config.CAFile)}}}
		answer, err := plain.Get(s.Config.Host + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := fmt.Sprint(path, " ", answer.StatusCode); got != want {
			t.Errorf("anonymous-auth=%s: got %s, want %s", value, got, want)
		}
		s.Stop()
	}
}

func roots(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(file)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err, "no certificate in "+file)
	}
	return pool
}
