{{/* Sweep and nightly files, and the scripts that start them. */}}

{{/*
A sweep file as YAML: the engine, and what this chart knows of the cluster, are filled in; what the values say stays.
Takes a dict of `root` and `config`.
*/}}
{{- define "parsimony.sweepFile" -}}
{{- $config := deepCopy .config -}}
{{- if not $config.engine -}}
{{- $_ := set $config "engine" (dict "kind" "ray") -}}
{{- end -}}
{{- if and $config.sandbox (eq (toString $config.sandbox.kind) "kubernetes") -}}
{{- $port := int .root.Values.candidates.callbackPort -}}
{{- if and $config.sandbox.callback_port (ne (int $config.sandbox.callback_port) $port) -}}
{{- fail (printf "sandbox.callback_port is %v, and the network policies open candidates.callbackPort, %d: set that one only" $config.sandbox.callback_port $port) -}}
{{- end -}}
{{- $known := dict "callback_port" $port "courier_image" (include "parsimony.image" .root) "network_policies" .root.Values.networkPolicy.enabled -}}
{{- if .root.Values.imagePullSecrets -}}
{{- $_ := set $known "image_pull_secrets" .root.Values.imagePullSecrets -}}
{{- end -}}
{{- $_ := set $config "sandbox" (merge (dict) $config.sandbox $known) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{- define "parsimony.nightlyFile" -}}
{{- $config := deepCopy .Values.nightly.config -}}
{{- $_ := set $config "sweep" "sweep.yaml" -}}
{{- if not $config.nights -}}
{{- $_ := set $config "nights" "/data/nights" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{- define "parsimony.nights" -}}
{{- $nights := .Values.nightly.config.nights | default "/data/nights" -}}
{{- if not (regexMatch "^/data/[A-Za-z0-9_][A-Za-z0-9_/-]*$" $nights) -}}
{{- fail (printf "nightly.config.nights is %q: nights are kept on the data volume, so write a path below /data, of letters, digits, `-` and `_`" $nights) -}}
{{- end -}}
{{- $nights -}}
{{- end }}

{{/* Ends with the status of the run, also when its results could not be copied, unless the run was fine. */}}
{{- define "parsimony.upload" -}}
{{- if eq .root.Values.artifacts.kind "objectStore" }}
parsimony upload {{ .folder }} {{ .root.Values.artifacts.url | trimSuffix "/" | squote }}/{{ .below }} || { [ "$status" -ne 0 ] || status=3; }
{{- end }}
{{- end }}

{{- define "parsimony.metricsOptions" -}}
{{- if .Values.metrics.enabled }} --metrics-port {{ .Values.metrics.port }} --metrics-address 0.0.0.0{{ end -}}
{{- end }}

{{- define "parsimony.sweepScript" -}}
#!/bin/sh
# Grade the sweep, or go on with it. Exit status of `parsimony run`: 0 done, 2 cannot run, 3 something is missing.
set -u
# A signal is for what runs: it ends in order, and this script after it.
trap : TERM INT
status=0
parsimony run /etc/parsimony/sweep/sweep.yaml --out /data/runs/{{ .Values.sweep.name }}{{ include "parsimony.metricsOptions" . }} || status=$?
{{- include "parsimony.upload" (dict "root" . "folder" (printf "/data/runs/%s" .Values.sweep.name) "below" (printf "runs/%s" .Values.sweep.name)) }}
exit "$status"
{{- end }}

{{- define "parsimony.nightlyScript" -}}
#!/bin/sh
# Grade the night of a date, or go on with it: `nightly.sh 2026-12-01`. Exit status of `parsimony nightly run`.
set -u
# A signal is for what runs: it ends in order, and this script after it.
trap : TERM INT
status=0
{{- if and .Values.metrics.enabled (not .Values.metrics.nightsExporter.enabled) }}
mkdir -p {{ include "parsimony.nights" . }}
parsimony metrics {{ include "parsimony.nights" . }} --port {{ .Values.metrics.port }} --address 0.0.0.0 &
metrics=$!
trap 'kill "$metrics" 2>/dev/null' EXIT
{{- end }}
parsimony nightly run /etc/parsimony/nightly/nightly.yaml --date "$1" || status=$?
{{- include "parsimony.upload" (dict "root" . "folder" (include "parsimony.nights" .) "below" "nights") }}
exit "$status"
{{- end }}

{{/* Eight digits that change with whatever a sweep is made of: another sweep is another RayJob or Job. Suspending is none. */}}
{{- define "parsimony.sweepDigest" -}}
{{- list (include "parsimony.sweepFile" (dict "root" . "config" .Values.sweep.config)) (omit .Values.sweep "suspend" "labels" "queue" | toJson) (include "parsimony.image" .) (include "parsimony.sweepScript" .) (toJson .Values.head) (toJson .Values.workers) (toJson .Values.engineSidecar) (toJson .Values.env) (toJson .Values.volumes) .Chart.Version | toJson | sha256sum | trunc 8 -}}
{{- end }}
