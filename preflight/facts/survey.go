package facts

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/tools/txtar"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/altered"
	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/packetfilter"
	"airgap.dev/airgap/preflight/replay"
)

//go:embed survey.sh.tmpl
var surveyTemplate string

// surveyEnd is the last section of the script's output. Without it the output is truncated.
const surveyEnd = "end/"

// SurveyScript is the survey as a POSIX shell script that users can read before they run it. It
// writes a recording. replay.Host and Survey read the same facts from it as from the host itself.
func SurveyScript() ([]byte, error) {
	t, err := template.New("survey").Parse(surveyTemplate)
	if err != nil {
		return nil, err
	}
	var sysctls []string
	for _, name := range surveyedSysctls() {
		sysctls = append(sysctls, "proc/sys/"+strings.ReplaceAll(name, ".", "/"))
	}
	var dirs []string
	for _, d := range leftoverDirs() {
		dirs = append(dirs, d.path)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Facts": strings.Join(Names(), " "), "Sysctls": sysctls, "Units": surveyedUnits(), "Paths": surveyedPaths(), "Dirs": dirs, "Vendor": "0x" + nvidia,
		"Present": slices.Concat(runtimeSockets(), runtimeBinaries(), blockingLeftovers(), untidyLeftovers(), toolPaths(), shadowPaths(), kubeletUnits(), []string{nvidiaUninstall}),
		"Binary":  []string{secureBootVar, mokListVar, dkmsKey, "proc/config.gz"}, "DropIns": slices.Concat(serviceDropIns(), confDirs("logind.conf"), confDirs("system.conf")), "Environments": kubeletEnvironments(), "Connections": connectionDirs(), "KubeletClient": kubeletClient,
		"LeftOut": leftOutPattern, "Remote": remoteTypes(), "UnitDirs": unitDirs(), "DF": strings.Join(dfOptions(), " "),
		"Modules":     strings.Join(surveyedModules(), "|"),
		"ScriptLines": nextboot.ScriptLines,
		"UnitKeys":    strings.Join(keptKeys(), "|"),
		"Confs":       slices.Concat(mainConfs("logind.conf"), mainConfs("system.conf")),
		"RuleFiles":   packetfilter.Files(), "RuleDir": packetfilter.Includes,
		"Watchers": shellWords(findWatchers()),
		"Crypto":   cryptopolicy.Files(), "MemoryHigh": memoryHigh(),
		"RPMFormat": "'" + strings.ReplaceAll(rpmFormat, "'", `'\''`) + "'",
	})
	return b.Bytes(), err
}

// shellWords quotes arguments for the shell.
func shellWords(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// ErrIncomplete means that the end of a file with facts is missing.
var ErrIncomplete = errors.New("the survey is incomplete: the copy is truncated, or the script did not finish")

// ReadSurvey reads facts from the output of the script.
func ReadSurvey(ctx context.Context, r io.Reader) (*Facts, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSurvey+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSurvey {
		return nil, fmt.Errorf("the survey is larger than %d MiB", maxSurvey>>20)
	}
	if why := altered.LineEnds(text); why != "" {
		return nil, advice.Add(fmt.Errorf("the output of the script was changed: %s", why), altered.LineEndsHint)
	}
	a := txtar.Parse(text)
	if n := len(a.Files); n == 0 || a.Files[n-1].Name != surveyEnd {
		return nil, ErrIncomplete
	}
	surveyed := firstSurveyed()
	for _, f := range a.Files {
		if names, is := strings.CutPrefix(f.Name, "facts/"); is {
			surveyed = slices.DeleteFunc(strings.Fields(names), func(name string) bool { return !slices.Contains(Names(), name) })
		}
	}
	h, err := replay.Host(text)
	if err != nil {
		return nil, err
	}
	f, err := Survey(ctx, h)
	if err == nil {
		f.Surveyed = surveyed
	}
	return f, err
}

// maxSurvey is far more than a server with thousands of packages needs.
const maxSurvey = 64 << 20
