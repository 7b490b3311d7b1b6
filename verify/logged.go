package verify

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// logged counts the log lines of client-go instead of printing them: warnings and errors of
// reflectors, which the findings also report. It is a logr.LogSink.
type logged struct{ lines atomic.Int64 }

func (l *logged) Init(logr.RuntimeInfo) {}

// Enabled accepts only messages of the default level.
func (l *logged) Enabled(level int) bool { return level == 0 }

func (l *logged) Info(int, string, ...any) { l.lines.Add(1) }

func (l *logged) Error(error, string, ...any) { l.lines.Add(1) }

func (l *logged) WithValues(...any) logr.LogSink { return l }

func (l *logged) WithName(string) logr.LogSink { return l }
