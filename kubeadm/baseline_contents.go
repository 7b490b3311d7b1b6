package kubeadm

import "airgap.dev/airgap/kubeadm/encryption"

// The files of the API server that Contents are about, by the arguments that name
// them, and what of each.
const (
	anonymousContents  = "authentication-config: anonymous"
	issuerContents     = "authentication-config: jwt"
	encryptionContents = "encryption-provider-config: secrets"
	policyContents     = "audit-policy-file: rules"
)

// contentControls are about what files say that the API server's arguments name.
func contentControls(c Config) []Control {
	controls := []Control{
		{ID: "1.2.1", Part: Contents, Name: anonymousContents, Test: Says, Want: "probes and cluster-info only", By: ByAirgap, Why: "without credentials nothing else is answered"},
		{ID: "-", Part: Contents, Name: issuerContents, Test: Says, Want: "the issuers of airgap.yaml", By: ByAirgap, Setting: "kubernetes.authentication.jwt", Why: "who else issues tokens decides who gets in"},
	}
	if c.EncryptionAtRest != encryption.NoEncryption {
		controls = append(controls, Control{ID: "1.2.28", Part: Contents, Name: encryptionContents, Test: Says, Want: "a first provider that encrypts", By: ByAirgap, Setting: "kubernetes.encryptionAtRest", Why: "the first provider writes: with identity Secrets are plain in etcd"})
	}
	if c.Audit.Log != NoAudit {
		controls = append(controls, Control{ID: "3.2.1, 3.2.2", Part: Contents, Name: policyContents, Test: Says, Want: "airgap's policy", By: ByAirgap, Setting: "kubernetes.audit.policy", Why: "a rule that fits first may hide who did what"})
	}
	return controls
}
