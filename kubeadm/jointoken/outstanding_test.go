package jointoken

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestOutstandingTokens: expired tokens and those of kubeadm do not count, used ones are told apart.
func TestOutstandingTokens(t *testing.T) {
	token := func(name, node string, ends time.Duration, description, used string) *corev1.Secret {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: TokenName(name), Namespace: metav1.NamespaceSystem, Labels: map[string]string{nodeLabel: node}},
			Type:       corev1.SecretTypeBootstrapToken,
			Data:       map[string][]byte{"expiration": []byte(time.Now().Add(ends).Format(time.RFC3339)), "description": []byte(description)},
		}
		if used != "" {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, usedNote, used)
		}
		return s
	}
	other := token("f", "", time.Hour, "kubeadm", "")
	other.Labels = nil
	client := fake.NewClientset(
		token("a", "w1", time.Hour, tokenDescription, ""), token("b", "w1", time.Minute, tokenDescription, ""),
		token("c", "w2", -time.Minute, tokenDescription, ""), token("d", "w3", time.Hour, tokenDescription, "sha256:1"),
		token("e", "w4", time.Hour, "by hand", ""), other)
	got, err := OutstandingTokens(t.Context(), client)
	require.NoError(t, err)
	assert.Equal(t, map[string]Outstanding{"w1": {Unused: 2}, "w3": {Used: 1}}, got)
}
