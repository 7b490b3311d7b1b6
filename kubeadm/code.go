package kubeadm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// CodeTTL is how long a code for joining is good.
const CodeTTL = 2 * time.Hour

// CreateCode makes a code with which hosts may join for CodeTTL, and says when it
// ends. It is a bootstrap token, made through the API so that it never is an
// argument of a command.
func CreateCode(ctx context.Context, client kubernetes.Interface) (string, time.Time, error) {
	text := strings.ToLower(rand.Text()) // 26 characters of base32
	id, secret := text[:6], text[6:22]
	ends := time.Now().Add(CodeTTL).UTC().Truncate(time.Second)
	_, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id":                       id,
			"token-secret":                   secret,
			"expiration":                     ends.Format(time.RFC3339),
			"usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing":        "true",
			"auth-extra-groups":              "system:bootstrappers:kubeadm:default-node-token",
			"description":                    "airgap join",
		},
	}, metav1.CreateOptions{FieldManager: "airgap"})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make a code for joining: %w", err)
	}
	return id + "." + secret, ends, nil
}

// CheckCode reports whether text has a code's form. The error never repeats it.
func CheckCode(text string) error {
	if !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`).MatchString(text) {
		return errors.New("that is no code: expected 6 characters, a dot, 16 characters, such as abcdef.0123456789abcdef")
	}
	return nil
}
