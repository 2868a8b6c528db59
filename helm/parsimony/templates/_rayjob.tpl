{{/* The spec of a RayJob: a Ray cluster that comes for one run and goes after it. Takes `root`, `what`, `entrypoint`, and `run`:
`sweep` or `nightly` of the values. */}}
{{- define "parsimony.rayJobSpec" -}}
{{- $root := .root }}
entrypoint: {{ .entrypoint }}
{{- /* The driver's place in the cluster; the head has no CPUs for tasks. */}}
entrypointNumCpus: 0
shutdownAfterJobFinishes: true
ttlSecondsAfterFinished: {{ .run.ttlSecondsAfterFinished }}
activeDeadlineSeconds: {{ int64 .run.activeDeadlineSeconds }}
preRunningDeadlineSeconds: {{ int64 $root.Values.sweep.preRunningDeadlineSeconds }}
backoffLimit: {{ .run.backoffLimit }}
suspend: {{ and (eq .what "sweep") .run.suspend }}
submissionMode: {{ $root.Values.sweep.submissionMode }}
{{- if eq $root.Values.sweep.submissionMode "K8sJobMode" }}
{{- /* What was submitted twice would run twice: the run itself is started again instead, and resumes. */}}
submitterConfig:
  backoffLimit: 0
submitterPodTemplate:
  metadata:
    labels:
      {{- include "parsimony.labels" (dict "root" $root "role" "submitter") | nindent 6 }}
  spec:
    automountServiceAccountToken: false
    enableServiceLinks: false
    restartPolicy: Never
    {{- with include "parsimony.pullSecrets" $root }}
    {{- . | nindent 4 }}
    {{- end }}
    securityContext:
      {{- include "parsimony.podSecurity" $root | nindent 6 }}
    containers:
      - name: ray-job-submitter
        image: {{ include "parsimony.image" $root }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        env:
          - {name: HOME, value: /tmp}
          - {name: RAY_USAGE_STATS_ENABLED, value: "0"}
        resources:
          {{- toYaml $root.Values.driver.resources | nindent 10 }}
        securityContext:
          {{- include "parsimony.containerSecurity" $root | nindent 10 }}
        volumeMounts:
          - {name: tmp, mountPath: /tmp}
    volumes:
      - {name: tmp, emptyDir: {sizeLimit: 1Gi}}
{{- end }}
rayClusterSpec:
  rayVersion: {{ $root.Values.ray.version | quote }}
  authOptions:
    mode: {{ ternary "token" "disabled" $root.Values.ray.tokenAuth }}
    {{- with $root.Values.ray.tokenSecretName }}
    secretName: {{ . }}
    {{- end }}
  enableInTreeAutoscaling: {{ $root.Values.autoscaling.enabled }}
  {{- if $root.Values.autoscaling.enabled }}
  autoscalerOptions:
    version: v2
    upscalingMode: Conservative
    idleTimeoutSeconds: {{ $root.Values.workers.idleTimeoutSeconds }}
    resources:
      {{- toYaml $root.Values.autoscaling.resources | nindent 6 }}
    securityContext:
      {{- include "parsimony.containerSecurity" $root | nindent 6 }}
  {{- end }}
  headGroupSpec:
    serviceType: ClusterIP
    rayStartParams:
      num-cpus: "0"
      dashboard-host: 0.0.0.0
      metrics-export-port: "8080"
      object-store-memory: {{ int64 $root.Values.ray.objectStoreBytes | quote }}
    template:
      {{- include "parsimony.headTemplate" (dict "root" $root "what" .what) | nindent 6 }}
  workerGroupSpecs:
    - groupName: grader
      replicas: {{ $root.Values.workers.replicas }}
      minReplicas: {{ ternary $root.Values.workers.minReplicas $root.Values.workers.replicas $root.Values.autoscaling.enabled }}
      maxReplicas: {{ ternary $root.Values.workers.maxReplicas $root.Values.workers.replicas $root.Values.autoscaling.enabled }}
      {{- if $root.Values.autoscaling.enabled }}
      idleTimeoutSeconds: {{ $root.Values.workers.idleTimeoutSeconds }}
      {{- end }}
      rayStartParams:
        metrics-export-port: "8080"
        object-store-memory: {{ int64 $root.Values.ray.objectStoreBytes | quote }}
        {{- with $root.Values.workers.rayCpus }}
        num-cpus: {{ . | quote }}
        {{- end }}
      template:
        {{- include "parsimony.workerTemplate" (dict "root" $root "restart" "Never") | nindent 8 }}
{{- end }}
