package verify

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// logged counts what client-go would log: warnings and errors of reflectors, which say in
// other words what our findings say. It is a logr.LogSink.
type logged struct{ lines atomic.Int64 }

func (l *logged) Init(logr.RuntimeInfo) {}

// Enabled takes what is logged without asking for more.
func (l *logged) Enabled(level int) bool { return level == 0 }

func (l *logged) Info(int, string, ...any) { l.lines.Add(1) }

func (l *logged) Error(error, string, ...any) { l.lines.Add(1) }

func (l *logged) WithValues(...any) logr.LogSink { return l }

func (l *logged) WithName(string) logr.LogSink { return l }
