@echo off
rem one ingest of what changed; meant for Task Scheduler, every 15 minutes.
rem The corpus is named by the first line of corpus.local.txt beside this file, which is not tracked. One line a run goes to
rem the log beside it, which is set aside near 5 MB; a store that is being written counts as success.
setlocal enableextensions disabledelayedexpansion
set "HERE=%~dp0"
set "CORPUS="
if not exist "%HERE%corpus.local.txt" (
  echo %~nx0: put the path of the corpus into "%HERE%corpus.local.txt" 1>&2
  exit /b 2
)
set /p CORPUS=<"%HERE%corpus.local.txt"
if not defined CORPUS (
  echo %~nx0: "%HERE%corpus.local.txt" is empty; put the path of the corpus into it 1>&2
  exit /b 2
)
set "RAG=rag-mcp"
if exist "%HERE%..\.venv\Scripts\rag-mcp.exe" set "RAG=%HERE%..\.venv\Scripts\rag-mcp.exe"
"%RAG%" tick "%CORPUS%" --log "%HERE%reingest.log"
exit /b %ERRORLEVEL%
