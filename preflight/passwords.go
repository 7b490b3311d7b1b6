package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/preflight/facts"
)

var passwords = Check{
	ID: "passwords", Title: "Passwords do not expire soon", Source: "shadow(5), pam_unix(8), linux-pam#489; CIS benchmark: PASS_MAX_DAYS",
	Breaks: "sudo, SSH and cron refuse a user with an expired password, also with an SSH key. airgap then cannot reach the host or change it.",
	Needs:  []string{"accounts", "now"}, Run: judgePasswords,
}

// passwordSoon is twice the time for which login warns by default, so that it is over after an installation.
const passwordSoon = 14

// judgePasswords judges root, and the user who has logged in. It never fails: a user who can start
// airgap now can finish the installation.
func judgePasswords(f *facts.Facts, _ *Want) Result {
	if len(f.Accounts)+len(f.OddAccounts) == 0 {
		return skipped("/etc/shadow has no line of root or of the user who has logged in")
	}
	today := int(f.Time.Now.Unix() / int64(24*time.Hour/time.Second))
	found, fixes := slices.Clone(f.OddAccounts), []string(nil)
	if len(found) > 0 {
		fixes = append(fixes, "compare the line with shadow(5), and run pwck -r")
	}
	var locked, names []string
	for _, a := range f.Accounts {
		names = append(names, a.Name)
		problem, fix := accountEnd(a, today)
		switch {
		case problem == "":
		case a.Password == facts.PasswordSet:
			found, fixes = append(found, problem), append(fixes, fix)
		case a.Login: // with a key: PAM applies the dates to SSH keys and sudo too
			found, fixes = append(found, problem+"; no password is set, but PAM applies the date to SSH keys and sudo"), append(fixes, withoutPassword(a, fix))
		default:
			locked = append(locked, problem+", but has no password to log in with; the date can also stop SSH keys and sudo")
		}
	}
	switch {
	case len(found) > 0:
		return Result{Warn, strings.Join(found, "; "), fmt.Sprintf("passwords and accounts that are valid for %d more days", passwordSoon), strings.Join(fixes, "; ")}
	case len(locked) > 0:
		return pass("%s", strings.Join(locked, "; "))
	default:
		return pass("%s: no date within %d days", strings.Join(names, ", "), passwordSoon)
	}
}

// accountEnd describes the end of an account or its password, if it has passed or comes soon. pam_unix
// refuses an account on its last day, and a password on the day after.
func accountEnd(a facts.Account, today int) (problem, fix string) {
	at := fmt.Sprintf("%s (/etc/shadow:%d)", a.Name, a.Line)
	renew := "run passwd " + a.Name + " as root, or chage -M -1 " + a.Name + " with the consent of the security team"
	switch last := a.Changed + a.Max; {
	case a.Expires >= 0 && a.Expires <= today:
		return "the account " + at + " has expired on " + dateOf(a.Expires), "run chage -E -1 " + a.Name
	case a.Changed == 0:
		return "the password of " + at + " must be changed at the next login", renew
	case a.Changed > 0 && a.Max >= 0 && last < today:
		return "the password of " + at + " has expired on " + dateOf(last), renew
	case a.Expires >= 0 && a.Expires <= today+passwordSoon:
		return "the account " + at + " expires on " + dateOf(a.Expires), "run chage -E -1 " + a.Name
	case a.Changed > 0 && a.Max >= 0 && last < today+passwordSoon:
		return "the password of " + at + " expires on " + dateOf(last), renew
	}
	return "", ""
}

// withoutPassword is the fix for a user who logs in with a key: a new password would open another login.
func withoutPassword(a facts.Account, fix string) string {
	if strings.HasPrefix(fix, "run passwd ") {
		return "run chage -M -1 -d $(date +%F) " + a.Name + " as root: it sets no password"
	}
	return fix
}

// dateOf is the date of a day since 1970.
func dateOf(day int) string { return time.Unix(0, 0).UTC().AddDate(0, 0, day).Format(time.DateOnly) }
