package pki

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"

	"airgap.dev/airgap/kubeadm/kube"
)

// The ConfigMaps in which the cluster publishes its CAs. Sources:
// https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/ and
// https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/.
const (
	clusterInfo        = "cluster-info"                       // in kube-public, for hosts that join
	rootCA             = "kube-root-ca.crt"                   // in each namespace, for its pods; the controller manager writes it
	authenticationInfo = "extension-apiserver-authentication" // in kube-system, for extension API servers; API servers write it
)

// publish writes the CAs of text to the cluster's ConfigMaps and waits until all have them.
func (p *rotationMember) publish(ctx context.Context, s hostRotation, text []byte) error {
	if p.Authority.nodes {
		if err := p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) error {
			return updateClusterInfo(ctx, client, text)
		}); err != nil {
			return err
		}
		err := p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) error {
			return rootCAPublished(ctx, client, text)
		})
		if err != nil {
			return stuck("the controller manager publishes the CAs in every namespace", err)
		}
	}
	field := map[string]string{"cluster": "client-ca-file", "front-proxy": "requestheader-client-ca-file"}[p.Authority.Name]
	if field == "" {
		return nil
	}
	err := p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) error {
		return updateExtensionInfo(ctx, client, field, s, text)
	})
	if err != nil {
		return stuck("the API servers publish the CAs for extension API servers", err)
	}
	return nil
}

// updateClusterInfo updates kubeadm's cluster-info. Sites may delete it, so a missing one is no error.
func updateClusterInfo(ctx context.Context, client kubernetes.Interface, text []byte) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespacePublic)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		info, err := maps.Get(ctx, clusterInfo, metav1.GetOptions{})
		if err != nil {
			return err
		}
		config, err := clientcmd.Load([]byte(info.Data["kubeconfig"]))
		if err != nil {
			return err
		}
		changed := false
		for _, cluster := range config.Clusters {
			changed = changed || !bytes.Equal(cluster.CertificateAuthorityData, text)
			cluster.CertificateAuthorityData = text
		}
		if !changed {
			return nil
		}
		data, err := clientcmd.Write(*config)
		if err != nil {
			return err
		}
		info.Data["kubeconfig"] = string(data)
		_, err = maps.Update(ctx, info, metav1.UpdateOptions{FieldManager: kube.CreateOptions().FieldManager})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the CAs to %s: %w", clusterInfo, err)
	}
	return nil
}

// rootCAPublished returns nil if the ConfigMap of every namespace has exactly the certificates of text.
func rootCAPublished(ctx context.Context, client kubernetes.Interface, text []byte) error {
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the namespaces: %w", err)
	}
	for _, n := range namespaces.Items {
		if n.DeletionTimestamp != nil {
			continue
		}
		published, err := client.CoreV1().ConfigMaps(n.Name).Get(ctx, rootCA, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read the CAs of the pods in namespace %s: %w", n.Name, err)
		}
		if !sameCertificates([]byte(published.Data["ca.crt"]), text) {
			return fmt.Errorf("%s of namespace %s has other CAs", rootCA, n.Name)
		}
	}
	return nil
}

// updateExtensionInfo returns nil if the API servers have published the CAs of text in field. The API
// servers only add certificates (pkg/controlplane/controller/clusterauthenticationtrust). To remove the old
// CA it deletes the ConfigMap, and the API servers create it again.
func updateExtensionInfo(ctx context.Context, client kubernetes.Interface, field string, s hostRotation, text []byte) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	info, err := maps.Get(ctx, authenticationInfo, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", authenticationInfo, err)
	}
	old, err := cert.ParseCertsPEM(s.old)
	if err != nil {
		return err
	}
	fresh, err := cert.ParseCertsPEM(s.fresh)
	if err != nil {
		return err
	}
	have := []byte(info.Data[field])
	if trustsOneOf(have, old) && !trustsOneOf(text, old) {
		if err := maps.Delete(ctx, authenticationInfo, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete %s: %w", authenticationInfo, err)
		}
		return fmt.Errorf("%s still has the old CA", authenticationInfo)
	}
	if !trustsOneOf(have, fresh) {
		return fmt.Errorf("%s does not have the new CA yet", authenticationInfo)
	}
	return nil
}

// sameCertificates compares them in any order.
func sameCertificates(a, b []byte) bool {
	these, err := cert.ParseCertsPEM(a)
	if err != nil {
		return false
	}
	those, err := cert.ParseCertsPEM(b)
	return err == nil && len(these) == len(those) && !slices.ContainsFunc(these, func(c *x509.Certificate) bool { return !slices.ContainsFunc(those, c.Equal) })
}
