package redact

// Patterns of tokens by their first letters, in addition to gitleaks' rules: these require an exact length
// and a boundary before the token, which a cut line or an escape sequence does not have.
var (
	gitForm    = lazy(`(?:gh[pousr]_|github_pat_|dckr_pat_)[A-Za-z0-9_]{12,}|gl(?:pat|dt|rt|cbt|ptt|ft|imt|oas|soat|agent|ffct)-[\w.-]{12,}`)
	amazonForm = lazy(`(?:^|[^A-Z0-9])((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})`)
	slackForm  = lazy(`(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{10,}`)
)

func serviceForms() []pattern {
	return []pattern{
		{kind: Token, words: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "dckr_pat_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "gloas-", "glsoat-", "glagent-", "glffct-"}, form: gitForm},
		{kind: Token, words: []string{"a3t", "akia", "asia", "abia", "acca"}, form: amazonForm},
		{kind: Token, words: []string{"xox", "xapp-"}, form: slackForm},
	}
}
